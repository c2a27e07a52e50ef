"""The verifier of routed rounds: real links, the data from end to end, and the loads; exact.

It shares no code with what makes them. They are right if and only if every route goes over links, through no node
twice, and the sends between the ends of routes do what the collective promises, which the replay of rounds decides on
the graph of these ends. What the fullest link of every step carries is added up message by message.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.cost import Cost
from topodesign.base.declared import key
from topodesign.plans.replay.found import WASTED, Found, marked
from topodesign.plans.replay.rounds import fullest_of_steps, verify_rounds
from topodesign.plans.routed import Routed
from topodesign.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class RoutedFound(Cost):
    """What routed rounds cost."""

    hops: int
    redundant: int

    KEYS = ("steps", key("hops", "Links of the longest way of each step, added up."), "bandwidth", WASTED[0])


def replayed_routed(topology: Topology, moved: Routed) -> Found:
    """Replay routed rounds."""
    links = {(u, v): at for at, (u, v, _) in enumerate(topology.links()) if u != v}
    start = moved.hop_start.tolist()
    routes = [moved.hop[a:b].tolist() for a, b in itertools.pairwise(start)]
    over = [[links.get(pair, -1) for pair in itertools.pairwise(way)] for way in routes]
    missing = np.array([-1 in one for one in over], dtype=np.bool_)
    again = np.array([len(set(way)) < len(way) for way in routes], dtype=np.bool_)

    def words(number: int) -> str:
        return f"route {number}: {' -> '.join(map(str, routes[number]))}"

    problems = marked(missing, lambda at: f"{words(at)} goes where there is no link", "such routes")
    problems += marked(again, lambda at: f"{words(at)} meets a node twice", "such routes")
    if problems:
        return Found(tuple(problems))
    report = verify_rounds(moved.joined, moved.rounds)
    members = moved.collective.members(topology.nodes, topology.switches)
    share, shards = moved.collective.shares(moved.block, topology.nodes, len(members))
    carried: dict[tuple[int, int], int] = defaultdict(int)
    far: dict[int, int] = defaultdict(int)
    sent: dict[tuple[int, int], int] = defaultdict(int)
    widths = ((moved.hi - moved.lo) * share).tolist()
    for step, route, width in zip(moved.step.tolist(), moved.route.tolist(), widths, strict=True):
        sent[step, route] += width
    for (step, route), width in sent.items():
        far[step] = max(far[step], len(over[route]))
        for link in over[route]:
            carried[step, link] += width
    keys = np.array([*carried], dtype=np.int64).reshape(-1, 2)
    total = fullest_of_steps(keys[:, 0], topology.capacity[keys[:, 1]], np.array([*carried.values()], dtype=np.int64))
    y, hops = Fraction(topology.degree, shards * moved.units) * total, sum(far.values())
    return Found(
        report.problems,
        {"steps": Fraction(moved.steps), "hops": Fraction(hops), "bandwidth": y},
        RoutedFound(moved.steps, y, hops, report.redundant),
        f"{moved.steps} steps over {hops} links, y = {y}",
        report.found().notes,
    )
