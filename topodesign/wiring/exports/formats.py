"""What a plan can be exported as: one line here for each format, and one file that writes it and reads it back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

from topodesign.base.arguments import as_choice, as_path, as_text
from topodesign.base.atomic import check_not_input, write_directory, write_whole
from topodesign.base.doors import EXPORTS
from topodesign.base.errors import ParameterError
from topodesign.topology.topology import Topology
from topodesign.wiring.exports.graphs import from_graph, to_dot, to_graphml, to_node_link
from topodesign.wiring.exports.labels import to_pdf, to_svg
from topodesign.wiring.exports.netbox import from_netbox, to_netbox, to_netbox_cables
from topodesign.wiring.exports.package import to_package
from topodesign.wiring.exports.panels import to_panels
from topodesign.wiring.exports.patches import from_patches, to_patches
from topodesign.wiring.exports.racks import to_racks
from topodesign.wiring.exports.switch import PLAIN, SwitchStyle, from_scpi, from_sonic, idle, to_scpi, to_sonic
from topodesign.wiring.exports.switch_commands import SPELLINGS, Spelling
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.plan import WiringPlan

Content: TypeAlias = str | bytes | dict[str, str]
"""Of a file, or of the files of a directory by their names."""


class Format(NamedTuple):
    """A format.

    Attributes
    ----------
    summary
        What it is, for the help text.
    write
        Makes its content of a plan.
    read
        Returns the links that a file (or directory) says, its nodes numbered as in the plan; None if it is not read.
        Called with the path and the plan, and the :class:`PortLabels` of the plan's inventory if it reads labels.
    commands
        Makes the content instead where a style of commands is asked for; None if it has no commands.
    linked
        Make the content instead where it shall lead to the address of a work package, by the ending of the path.
    reads_labels
        Whether it is read with the labels of panel ports as spreadsheets save them.
    notes
        Says in words what of the plan is not in it; None if there is never anything to say.
    others
        Make the content instead where the path has one of these endings.
    """

    summary: str
    write: Callable[[WiringPlan], Content]
    read: Callable[..., Topology] | None = None
    commands: Callable[[WiringPlan, SwitchStyle], Content] | None = None
    others: Mapping[str, Callable[[WiringPlan], Content]] = {}
    linked: Mapping[str, Callable[[WiringPlan, str], Content]] = {}
    notes: Callable[[WiringPlan], tuple[str, ...]] | None = None
    reads_labels: bool = False


FORMATS: dict[str, Format] = {
    "patches": Format("list of all cables and circuits (CSV)", to_patches, from_patches, reads_labels=True),
    "netbox": Format(
        "files that fill NetBox, in order (or its cables alone, CSV)",
        to_netbox,
        from_netbox,
        others={".csv": to_netbox_cables},
        reads_labels=True,
    ),
    "sonic": Format(
        "cross-connects of SONiC circuit switches: CONFIG_DB (JSON) and commands",
        to_sonic,
        from_sonic,
        commands=to_sonic,
        notes=idle,
    ),
    "scpi": Format(
        "commands for circuit switches as Polatis makes them", to_scpi, from_scpi, commands=to_scpi, notes=idle
    ),
    "dot": Format("drawing for Graphviz", to_dot),
    "graphml": Format("graph; also a topology for other commands, as is json (node-link)", to_graphml, from_graph),
    "json": Format("the same graph as node-link data", to_node_link, from_graph),
    "labels": Format(
        "sheets of 65 cable labels on A4 (SVG, or PDF if PATH ends in .pdf)",
        to_svg,
        others={".pdf": to_pdf},
        linked={"": to_svg, ".pdf": to_pdf},
    ),
    "racks": Format("a page of work for every rack (HTML)", to_racks),
    "panels": Format("a picture of every panel (SVG)", to_panels),
    "package": Format("all of it on one page, to print or for a phone (HTML)", to_package),
}
"""The formats by name."""

READERS = {name: known.read for name, known in FORMATS.items() if known.read is not None}
"""What reads back those that are."""


def readers() -> dict[str, Callable[..., Topology]]:
    """Return what reads back formats, those of other packages too."""
    return {name: known.read for name, known in EXPORTS.items() if known.read is not None}


def export_wiring(
    plan: WiringLike,
    file_format: str,
    path: str | Path,
    *,
    only: bool = False,
    batch: bool = False,
    labels: bool = False,
    spelling: Spelling = "ocs",
    url: str = "",
) -> tuple[str, ...]:
    """Write a plan in one of the ``FORMATS``, whole or not at all.

    Parameters
    ----------
    plan
        A plan, or the path of its file.
    file_format
        ``patches``, ``netbox``, ``sonic``, ``scpi``, ``dot``, ``graphml``, ``json``, ``labels``, ``racks``,
        ``panels`` or ``package``.
    path
        The file to write. ``netbox``, ``sonic``, ``scpi``, ``labels`` and ``panels`` make a new directory, with a file
        for every import, switch, sheet or panel; ``netbox`` the cables alone if the path ends in .csv, ``labels`` one
        PDF if in .pdf.
    only
        Of ``sonic`` and ``scpi``: commands that remove what else is in the switch.
    batch
        Of ``sonic`` and ``scpi``: one command for all circuits of a switch.
    labels
        Of ``sonic``: ports get the name of the lane that is cabled there.
    url
        Of ``labels``: the address of the work package (format ``package``), to which a QR code on each label leads.
    spelling
        Of ``sonic``: ``ocs`` for ``config ocs cross-connect``, ``yang`` for ``config ocs-cross-connect``.

    Returns
    -------
    tuple of str
        What the files do not hold although one may look for it there, in words: switches that get no circuit.

    Raises
    ------
    ParameterError
        If there is no such format, it has no such commands, the file would take the place of the plan's own, or it
        cannot hold the plan; the message says why.
    FileFormatError
        If it cannot be written, or there is a directory with something in it.

    Examples
    --------
    >>> import tempfile
    >>> from topodesign.wiring.inventory.plain import plain_inventory
    >>> from topodesign.wiring.plan.wire import wire
    >>> plan = wire("circulant(6,1,2)", plain_inventory(6, 4))
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory) / "patches.csv"
    ...     _ = export_wiring(plan, "patches", path)
    ...     print(path.read_text().splitlines()[-1].split(",")[0])
    C12
    """
    wiring, target = as_wiring(plan), as_path(path)
    if not isinstance(plan, WiringPlan):
        check_not_input(target, as_path(plan))
    known = EXPORTS[as_choice("format", file_format, EXPORTS)]
    style = SwitchStyle(only, batch, labels, as_choice("spelling", spelling, SPELLINGS))
    if style != PLAIN:
        if known.commands is None:
            raise ParameterError(f"{file_format} has no commands; only, batch, labels and spelling are for switches")
        content = known.commands(wiring, style)
    elif url:
        write = known.linked.get(target.suffix.lower(), known.linked.get(""))
        if write is None:
            raise ParameterError(f"{file_format} has no codes that lead to a work package; labels have")
        content = write(wiring, as_text("url", url))
    else:
        content = known.others.get(target.suffix.lower(), known.write)(wiring)
    if isinstance(content, dict):
        write_directory(target, content)
    else:
        write_whole(target, content)
    return () if known.notes is None else known.notes(wiring)
