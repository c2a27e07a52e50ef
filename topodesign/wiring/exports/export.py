"""What a plan can be exported as: what each module of ``formats`` declares as its ``FORMATS``; and exports read back.

The patch list and the NetBox file say what is cabled to which panel port themselves; files for circuit switches rest on
the fixed cabling of the plan. All rest on it for the number of a host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from topodesign.base.arguments import as_choice, as_path, as_text
from topodesign.base.atomic import check_not_input, names_directory, write_directory, write_whole
from topodesign.base.declared import key
from topodesign.base.doors import EXPORTS, declared_in
from topodesign.base.errors import FileFormatError, ParameterError, TopologyError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.options import flagged, read, takes
from topodesign.base.records import Result
from topodesign.topology.topology import Topology
from topodesign.wiring.bringup.options import BringupOptions
from topodesign.wiring.exports import formats
from topodesign.wiring.exports.format import Format
from topodesign.wiring.inventory.devices import PortLabels
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.kinds import SPELLINGS, Spelling
from topodesign.wiring.switches.switch import PLAIN, SwitchStyle

_FIRST = ("patches", "netbox", "switch_files", "graphs", "labels", "racks", "panels", "package", "bringup")
FORMATS: dict[str, Format] = {
    name: known for some in declared_in(formats.__name__, "FORMATS", _FIRST) for name, known in some.items()
}
"""The formats by name."""
READERS = {name: known.read for name, known in FORMATS.items() if known.read is not None}
"""What reads back those that are."""


def readers() -> dict[str, Callable[..., Topology]]:
    """Return what reads back formats, those of other packages too."""
    return {name: known.read for name, known in EXPORTS.items() if known.read is not None}


@takes(BringupOptions)
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
    **options: Unpack[BringupOptions],
) -> tuple[str, ...]:
    """Write a plan in one of the ``FORMATS``, whole or not at all.

    Parameters
    ----------
    plan
        A plan, or the path of its file.
    file_format
        ``patches``, ``netbox``, ``sonic``, ``scpi``, ``dot``, ``graphml``, ``json``, ``labels``, ``racks``,
        ``panels``, ``package``, ``bringup``, ``ptm``, ``topo`` or ``p2p``.
    path
        The file to write. ``netbox``, ``sonic``, ``scpi``, ``labels``, ``panels`` and ``bringup`` make a new directory,
        with a file for every import, switch, sheet or panel, and a directory for every host; ``netbox`` the cables
        alone if the path ends in .csv, ``labels`` one PDF if in .pdf; ``package`` one page, or a directory with a page
        for every rack and panel if the path has no ending.
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
    **options
        Of ``bringup``: see :func:`topodesign.wiring.bringup.bringup.bringup`.

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
    >>> from topodesign import plain_inventory, wire
    >>> _ = export_wiring(wire("circulant(6,1,2)", plain_inventory(6, 4)), "patches", "patches.csv")
    >>> print(Path("patches.csv").read_text().splitlines()[-1].split(",")[0])
    C12
    """
    wiring, target = as_wiring(plan), as_path(path)
    if not isinstance(plan, WiringPlan):
        check_not_input(target, as_path(plan))
    ending = "" if names_directory(target) else target.suffix.lower()
    known = EXPORTS[as_choice("format", file_format, EXPORTS)]
    said: tuple[str, ...] = ()
    plain = read(BringupOptions, {}, "export_wiring")
    given = [name for name, value in read(BringupOptions, options, "export_wiring").items() if value != plain[name]]
    if given and known.settled is None:
        raise ParameterError(f"{file_format} takes no {flagged(given[:1])}; bringup does")
    style = SwitchStyle(only, batch, labels, as_choice("spelling", spelling, SPELLINGS))
    if style != PLAIN:
        if known.commands is None:
            raise ParameterError(f"{file_format} has no commands; only, batch, labels and spelling are for switches")
        content = known.commands(wiring, style)
    elif url:
        write = known.linked.get(ending, known.linked.get(""))
        if write is None:
            raise ParameterError(f"{file_format} has no codes that lead to a work package; labels have")
        content = write(wiring, as_text("url", url))
    elif known.settled is not None:
        content, said = known.settled(wiring, **options)
    else:
        content = known.others.get(ending, known.write)(wiring)
    if isinstance(content, dict):
        write_directory(target, content)
    else:
        write_whole(target, content)
    return said if known.notes is None else known.notes(wiring)


Link = tuple[int, int, int]  # A link from and to these nodes, and how many there are of it


@dataclass(frozen=True, repr=False)
class ReadBack(Result):
    """What an export makes, beside the plan that it should make."""

    topology: Topology  # the links that it makes, numbered as in the plan
    hosts: tuple[str, ...]  # the name of the host that is each node
    missing: tuple[Link, ...]  # links of the plan that it lacks; self-loops do not count
    extra: tuple[Link, ...]  # links that the plan lacks
    notes: tuple[str, ...] = ()  # labels of ports that were taken for others, such as 1 for 001, in words

    KEYS = (
        "same",
        key("nodes=topology.nodes", "Nodes N."),
        key("links=topology.links", "What it makes."),
        "missing extra notes",
    )

    @property
    def same(self) -> bool:
        """Whether it makes the links of the plan."""
        return not self.missing and not self.extra

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for every link that differs."""
        return [
            {"difference": word, "from": self.hosts[u], "to": self.hosts[v], "links": count}
            for word, links in (("misses", self.missing), ("has too many", self.extra))
            for u, v, count in links
        ]

    def heading(self) -> str:
        """Return whether it is the plan."""
        if self.same:
            return "it makes the links of the plan"
        return f"it differs from the plan in {len(self.missing) + len(self.extra)} links"

    def __str__(self) -> str:
        rows = self.to_records()
        lines = [f"{row['difference']}: {row['links']} x {row['from']} -> {row['to']}" for row in rows]
        return "\n".join([*(lines or [self.heading()]), *self.notes])


def import_wiring(plan: WiringLike, file_format: str, path: str | Path) -> ReadBack:
    """Read an export back and compare the links that it makes with those of the plan.

    Parameters
    ----------
    plan
        A plan, or the path of its file: the hosts, and what is cabled to the ports of circuit switches.
    file_format
        ``patches``, ``netbox``, ``sonic``, ``scpi``, ``graphml`` or ``json``.
    path
        A file, or for ``sonic`` and ``scpi`` the directory with those of all switches.

    Raises
    ------
    ParameterError
        If there is no such format, or it cannot be read back.
    FileFormatError
        If it cannot be read; the message names the file and the line.

    Examples
    --------
    >>> from topodesign import export_wiring, plain_inventory, wire
    >>> plan = wire("circulant(6,1,2)", plain_inventory(6, 4))
    >>> _ = export_wiring(plan, "netbox", "cables.csv")
    >>> import_wiring(plan, "netbox", "cables.csv")
    <ReadBack: it makes the links of the plan>
    """
    wiring, source = as_wiring(plan), as_path(path)
    name, labels = as_choice("format", file_format, readers()), PortLabels(wiring.inventory.panel_port)
    known = EXPORTS[name]
    folder = [FileKind.DIRECTORY] if known.kind in {FileKind.CIRCUITS, FileKind.NETBOX} else []
    with expecting(source, *([] if known.kind is None else [known.kind]), *folder):
        try:
            found = known.read(source, wiring, *([labels] if known.reads_labels else []))
        except (ParameterError, TopologyError) as error:
            raise FileFormatError(str(error)) from None
    want, have = (Counter({(u, v): c for u, v, c in one.links() if u != v}) for one in (wiring.topology, found))
    return ReadBack(found, wiring.hosts, _links(want - have), _links(have - want), labels.notes)


def _links(count: Counter[tuple[int, int]]) -> tuple[Link, ...]:
    return tuple((u, v, number) for (u, v), number in sorted(count.items()))
