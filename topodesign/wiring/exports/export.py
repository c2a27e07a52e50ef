"""Export formats, as the ``FORMATS`` of each module of ``formats``.

What can be read back is read as an observation (:mod:`topodesign.wiring.check.cables`) and checked like others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from topodesign.base.arguments import as_choice, as_path, as_text
from topodesign.base.atomic import check_not_input, names_directory, write_directory, write_whole
from topodesign.base.entry_points import EXPORTS, load_declared
from topodesign.base.errors import ParameterError
from topodesign.base.options import read, takes
from topodesign.wiring.bringup.options import BringupOptions
from topodesign.wiring.exports import formats
from topodesign.wiring.exports.format import Format
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.kinds import SPELLINGS, Spelling

_FIRST = ("patches", "netbox", "switch_files", "graphs", "labels", "racks", "panels", "package", "bringup")
FORMATS: dict[str, Format] = {
    name: known for some in load_declared(formats.__name__, "FORMATS", _FIRST) for name, known in some.items()
}
"""The formats by name."""
_PLAIN = {"only": False, "batch": False, "labels": False, "spelling": "ocs", "url": ""}


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
    """Write a plan in one of the ``FORMATS``, atomically.

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
    >>> from topodesign import plain_inventory, plan_wiring
    >>> _ = export_wiring(plan_wiring("circulant(6,1,2)", plain_inventory(6, 4)), "patches", "patches.csv")
    >>> print(Path("patches.csv").read_text().splitlines()[-1].split(",")[0])
    C12
    """
    wiring, target = as_wiring(plan), as_path(path)
    if not isinstance(plan, WiringPlan):
        check_not_input(target, as_path(plan))
    known = EXPORTS[as_choice("format", file_format, EXPORTS)]
    plain = read(BringupOptions, {}, "export_wiring") | _PLAIN
    settings = read(BringupOptions, options, "export_wiring") | {
        "only": only,
        "batch": batch,
        "labels": labels,
        "spelling": as_choice("spelling", spelling, SPELLINGS),
        "url": url and as_text("url", url),
    }
    for name in settings:
        if name not in known.takes and settings[name] != plain[name]:
            others = " and ".join(other for other, one in FORMATS.items() if name in one.takes)
            raise ParameterError(f"{file_format} takes no --{name.replace('_', '-')}; remove it, or export {others}")
    settings["ending"] = "" if names_directory(target) else target.suffix.lower()
    made = known.write(wiring, **{name: settings[name] for name in known.takes})
    notes: tuple[str, ...]
    content, notes = made if isinstance(made, tuple) else (made, ())
    if isinstance(content, dict):
        write_directory(target, content)
    else:
        write_whole(target, content)
    return notes
