"""Small random plans of timed sends on links that differ: right by construction, times and all in small integers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tests.samples.schedules import Collective, Random, flow_columns, valid
from topodesign.plans.flow import Flow
from topodesign.plans.time.ticks import time_rounds
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology


def uneven_links(random: Random, topology: Topology, units: int) -> LinkTable:
    """Latencies of 0 to 5 s, and 1 to 4 s a unit where every node has 8 bytes of the data."""
    pairs = [(u, v) for u, v, _ in topology.links() if u != v]
    alpha = {pair: Fraction(int(random.integers(6))) for pair in pairs}
    return LinkTable(alpha, {pair: Fraction(64, units * int(random.integers(1, 5))) for pair in pairs})


def timed_sample(random: Random, collective: Collective) -> tuple[Topology, Flow, Flow, LinkTable]:
    """A random schedule that got its times: as early as they may be, or all later and longer."""
    topology, rounds = valid(random, collective)
    links, size, overlap = (
        uneven_links(random, topology, rounds.units),
        Fraction(8 * topology.nodes),
        random.integers(2),
    )
    given: Any = {"size": size, "alpha": Fraction(1), "bandwidth": Fraction(64), "links": links}
    timed = time_rounds(topology, rounds, overlap=bool(overlap), **given)
    slow = 1 if overlap else int(random.integers(1, 3))  # where latencies run on, what takes longer holds its link
    return topology, rounds, timed.having(start=timed.start * slow, end=timed.end * slow), links


def changed(timed: Flow, name: str, row: int, value: int) -> Flow:
    column = getattr(timed, name).copy()
    column[row] = value
    return timed.having(**{name: column})


def joined(timed: Flow, more: Flow) -> Flow:
    """Return the sends of two flows together, each with a piece of its own."""
    columns = {name: np.concatenate((column, getattr(more, name))) for name, column in flow_columns(timed).items()}
    return timed.having(**columns | {"piece": np.arange(len(timed) + len(more))})


def on_clock(timed: Flow, **changes: Any) -> Flow:
    """Return a flow whose clock says something else."""
    return timed.having(clock=timed.timing._replace(**changes))
