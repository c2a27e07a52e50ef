"""Exports read back, as they may come from other hands, and whether what they say makes the links of the plan.

The patch list and the NetBox file say what is cabled to which panel port themselves; files for circuit switches rest on
the fixed cabling of the plan. All rest on it for the number of a host.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topodesign.base.arguments import as_choice, as_path
from topodesign.base.declared import key
from topodesign.base.doors import EXPORTS
from topodesign.base.errors import FileFormatError, ParameterError, TopologyError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.records import Result
from topodesign.topology.topology import Topology
from topodesign.wiring.exports.export import readers
from topodesign.wiring.inventory.devices import PortLabels
from topodesign.wiring.plan.files import WiringLike, as_wiring

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
