"""How long the schedule in a tree schedule file takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from topodesign.base.errors import ParameterError
from topodesign.cli.options import counted
from topodesign.cli.sources import part_of
from topodesign.cli.trees.files import right_trees
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.trees import Trees
from topodesign.report.bottleneck import listed
from topodesign.simulation.rounds import Loss
from topodesign.simulation.trees import TreeSimulation, simulate_trees

_SHOWN = 3
"""Examples given of what a failure breaks."""


@dataclass(frozen=True)
class Timed:
    """How long the schedule in a file takes for data of one size, and what links that are down prevent."""

    fabric: Fabric
    schedule: Trees
    result: TreeSimulation

    @property
    def finishes(self) -> bool:
        """Whether all data arrive."""
        return self.result.loss is None or not len(self.result.loss.pairs)

    def record(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        result, loss = self.result, self.result.loss
        down = [] if loss is None else loss.links
        return {
            "size_bytes": float(result.size),
            "time_s": float(result.time),
            "time": str(result.time),
            "bandwidth_time_s": float(result.optimum),
            "algorithmic_bandwidth_GBps": float(result.size / result.time / 10**9) if self.finishes else None,
            "chunks": result.chunks,
            "phase_ends_s": [float(end) for end in result.phase_ends],
            "utilisation_mean": float(result.utilisation.mean()),
            "utilisation_max": float(result.utilisation.max()),
            "utilisation_min": float(result.utilisation.min()),
            "down": [{"from": self.fabric.names[u], "to": self.fabric.names[v]} for u, v in down],
            "completes": self.finishes,
            "incomplete_nodes": [] if loss is None else list(self._lacking(loss)),
            "text": str(self),
        }

    def __str__(self) -> str:
        """Return times, utilisation and longest ways, and before them what does not arrive."""
        times = replace(self.result, loss=None).describe(self.fabric.names.__getitem__)
        if self.result.loss is None:
            return times
        return "\n".join([*self._broken(self.result.loss), *([] if self.finishes else ["of what still goes:"]), times])

    def _lacking(self, loss: Loss) -> dict[str, list[str]]:
        """Return for each node that never has all it should which shards, or whose parts of its sum, are missing."""
        lacking = defaultdict(list)
        for owner, node in loss.pairs.tolist():
            at, missing = (owner, node) if loss.reduces_only else (node, owner)
            lacking[self.fabric.names[at]].append(self.fabric.names[missing])
        return lacking

    def _broken(self, loss: Loss) -> Iterator[str]:
        down = listed([f"{self.fabric.names[u]} -> {self.fabric.names[v]}" for u, v in loss.links])
        collective = self.schedule.collective
        if self.finishes:
            yield f"with {down} down the {collective} finishes all the same"
            return
        lacking = self._lacking(loss)
        what, of = ("their whole sum", "the parts of") if loss.reduces_only else ("all data", "the shards of")
        verb = "never gets" if len(lacking) == 1 else "never get"
        some = f"{len(lacking)} of {counted(len(self.fabric.compute), 'node')} {verb} {what}"
        yield f"with {down} down the {collective} does not finish: {some}"
        for node in list(lacking)[:_SHOWN]:
            yield f"  {node} lacks {of} {listed(lacking[node])}"
        if len(lacking) > _SHOWN:
            yield f"  and so on for {len(lacking) - _SHOWN} more"
        yield "'topodesign schedule' makes another one for what is left, with --without A-B"


def simulate_file(
    path: Path,
    alpha: Fraction,
    sizes: tuple[Fraction, ...],
    bandwidth: Fraction | None,
    failed: tuple[str, ...],
    without: tuple[str, ...],
) -> list[Timed]:
    """Time the schedule in a file.

    Parameters
    ----------
    bandwidth
        Bits per second of a node over all its links, for a topology without bandwidths of its own; None keeps what the
        file says.
    failed
        Links that are down in one direction, as ``A,B`` with names.
    without
        Links ``A-B`` that are down in both, and nodes and switches.
    """
    fabric, schedule = right_trees(path)
    unit = 8 * fabric.unit
    if bandwidth is not None:
        if fabric.names != tuple(map(str, range(len(fabric.names)))):
            raise ParameterError(f"{path} has bandwidths of its own; leave out --bandwidth")
        unit = bandwidth / max(1, int(fabric.topology.out_ports[list(fabric.compute)].max()))
    down = [*(_link(fabric, text) for text in failed), *_dead(fabric, without)]
    return [
        Timed(fabric, schedule, simulate_trees(schedule, alpha=alpha, size=size, unit=unit, failed_links=down))
        for size in sizes
    ]


def _link(fabric: Fabric, text: str) -> tuple[int, int]:
    ends = [end.strip() for end in text.split(",")]
    if len(ends) != 2:
        raise ParameterError(f"a failed link is written A,B with the names of its ends, not {text[:100]!r}")
    u, v = map(fabric.number, ends)
    if v not in fabric.topology.neighbours(u):
        raise ParameterError(f"there is no link {ends[0]} -> {ends[1]}")
    return u, v


def _dead(fabric: Fabric, without: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return the links that what is left does not have."""
    left = {(link.src, link.dst) for link in part_of(fabric, (), "vanish", without).links()}
    links = zip(fabric.topology.links(), fabric.links(), strict=True)
    return [(u, v) for (u, v, _), link in links if (link.src, link.dst) not in left]
