"""A plan for those who carry it out: technicians, inventories, circuit switches, graph programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from topodesign.base.atomic import write_directory, write_whole
from topodesign.wiring.exports.graphs import to_dot, to_graphml, to_node_link
from topodesign.wiring.exports.labels import to_pdf, to_svg
from topodesign.wiring.exports.netbox import to_netbox
from topodesign.wiring.exports.patches import to_patches
from topodesign.wiring.exports.racks import to_racks
from topodesign.wiring.exports.switch import to_scpi, to_sonic
from topodesign.wiring.plan.plan import Plan

_FILES: Mapping[str, Callable[[Plan], str]] = {
    "patches": to_patches,
    "netbox": to_netbox,
    "dot": to_dot,
    "graphml": to_graphml,
    "json": to_node_link,
    "racks": to_racks,
}
_DIRECTORIES: Mapping[str, Callable[[Plan], dict[str, str]]] = {"sonic": to_sonic, "scpi": to_scpi, "labels": to_svg}

FORMATS = ("patches", "netbox", "sonic", "scpi", "dot", "graphml", "json", "labels", "racks")
"""What a plan can be exported as."""


def export_plan(plan: Plan, file_format: str, path: Path) -> None:
    """Write a plan in one of the ``FORMATS``, whole or not at all.

    ``sonic``, ``scpi`` and ``labels`` make a directory with a file for every switch or sheet; ``labels`` one PDF if the
    path ends in .pdf.

    Raises
    ------
    ParameterError
        If the format cannot hold the plan; the message says why.
    FileFormatError
        If it cannot be written, or there is a directory with something in it.
    """
    if file_format == "labels" and path.suffix.lower() == ".pdf":
        write_whole(path, to_pdf(plan))
    elif file_format in _DIRECTORIES:
        write_directory(path, _DIRECTORIES[file_format](plan))
    else:
        write_whole(path, _FILES[file_format](plan))
