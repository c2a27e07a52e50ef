"""Small random plans of timed sends on links that differ: right by construction, times and all in small integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tests.samples.schedules import Collective, Random, valid
from topodesign.plans.rounds import Rounds
from topodesign.plans.timed import Timed
from topodesign.plans.timed_ops import timed_of
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology


def uneven_links(random: Random, topology: Topology, units: int) -> LinkTable:
    """Latencies of 0 to 5 s, and 1 to 4 s a unit where every node has 8 bytes of the data."""
    pairs = [(u, v) for u, v, _ in topology.links() if u != v]
    alpha = {pair: Fraction(int(random.integers(6))) for pair in pairs}
    return LinkTable(alpha, {pair: Fraction(64, units * int(random.integers(1, 5))) for pair in pairs})


def timed_sample(random: Random, collective: Collective) -> tuple[Topology, Rounds, Timed, LinkTable]:
    """A random schedule that got its times: at once, in lock-step, or at once and then later by random slack."""
    topology, rounds = valid(random, collective)
    links = uneven_links(random, topology, rounds.units)
    timed = timed_of(
        topology,
        rounds,
        size=Fraction(8 * topology.nodes),
        alpha=Fraction(1),
        bandwidth=Fraction(64),
        links=links,
        lock_step=bool(random.integers(2)),
        overlap=bool(random.integers(2)),
    )
    return topology, rounds, timed, links


def changed(timed: Timed, name: str, row: int, value: int) -> Timed:
    column = getattr(timed, name).copy()
    column[row] = value
    return timed.having(**{name: column})


def joined(timed: Timed, more: Timed) -> Timed:
    columns = {name: np.concatenate((column, getattr(more, name))) for name, column in timed.columns().items()}
    return timed.having(**{name: columns[name] for name in columns if name not in {"latency", "per_unit"}})
