"""What a plan can be exported as: what each module of ``formats`` declares as its ``FORMATS``.

What can be read back is read as an observation (:mod:`topodesign.wiring.check.cables`) and checked like others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from topodesign.base.arguments import as_choice, as_path, as_text
from topodesign.base.atomic import check_not_input, names_directory, write_directory, write_whole
from topodesign.base.doors import EXPORTS, declared_in
from topodesign.base.errors import ParameterError
from topodesign.base.options import flagged, read, takes
from topodesign.wiring.bringup.options import BringupOptions
from topodesign.wiring.exports import formats
from topodesign.wiring.exports.format import Format
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.kinds import SPELLINGS, Spelling
from topodesign.wiring.switches.switch import PLAIN, SwitchStyle

_FIRST = ("patches", "netbox", "switch_files", "graphs", "labels", "racks", "panels", "package", "bringup")
FORMATS: dict[str, Format] = {
    name: known for some in declared_in(formats.__name__, "FORMATS", _FIRST) for name, known in some.items()
}
"""The formats by name."""


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
