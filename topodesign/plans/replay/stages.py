"""The verifier of stages: right trees in every group, and every contribution added up once, everywhere.

It shares no code with what makes stages. The trees of every stage are checked as those of any plan are. Then every
node's part of the data is followed, and how often it has added up what each node began with: in a reduce-scatter and a
one-shot the counts of all members are added, in an allgather they must be alike. In the end every node must have all of
the data, and count everybody once.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.declared import Declared
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.replay.found import SHOWN, Found
from topodesign.plans.replay.trees import loads_of, overloaded, verify_trees
from topodesign.plans.stages import DOES, Stages
from topodesign.plans.trees import Trees
from topodesign.topology.topology import IntArray


@dataclass(frozen=True, slots=True)
class StagesFound(Declared):
    """What stages reach."""

    stages: int  # one after the other
    trees: int  # different trees
    height: Fraction  # sends from node to node on the longest way
    algorithmic_bandwidth: Fraction  # whole data over the time, without latency, in bytes per second

    KEYS = "stages trees height algorithmic_bandwidth"


def replayed_stages(fabric: Fabric, stages: Stages) -> Found:
    """Replay the trees of a plan's stages, with what switches of its fabric can do and limits that links share."""
    problems: list[str] = []
    height, busy = 0, Fraction(0)
    follow = _Follower(stages.collective.members(stages.topology.nodes, stages.topology.switches))
    for number, (trees, does) in enumerate(zip(stages.each, stages.does.tolist(), strict=True)):
        report = verify_trees(trees, names=fabric.names, multicast=fabric.multicast, aggregation=fabric.aggregation)
        found = [*report.problems, *overloaded(fabric, loads_of(trees), trees.rate)]
        found += [] if found else follow.after(trees, DOES[does].name)
        problems += [f"stage {number}: {problem}" for problem in found]
        if found:
            break
        height += report.height
        busy += follow.size / (_group_weight(trees) * trees.rate)
    else:
        problems += follow.unfinished(fabric.names)
    if problems:
        return Found(tuple(problems))
    figures = {"height": Fraction(height), "algorithmic_bandwidth": fabric.unit / busy}
    count = len(stages.does)
    text = f"{count} stages of height {height}, {len(stages)} trees"
    return Found((), figures, StagesFound(count, len(stages), **figures), text)


def _group_weight(trees: Trees) -> int:
    """Return the weight of the trees of a group: they have been checked to be alike in that."""
    group = (trees.collective.groups or (trees.collective.group or (),))[0]
    return int(trees.weight[np.isin(trees.root, group)].sum())


class _Follower:
    """What every node has."""

    def __init__(self, nodes: IntArray) -> None:
        self._place = {node: at for at, node in enumerate(nodes.tolist())}
        self._counts = np.eye(len(nodes), dtype=np.int64)
        self._part = {node: (Fraction(0), Fraction(1)) for node in self._place}
        self.size = Fraction(0)  # what the roots of a group send in all, of the whole data

    def after(self, trees: Trees, does: str) -> list[str]:
        """Go through a stage; return what is wrong."""
        counts = self._counts.copy()
        for group in trees.collective.groups or (trees.collective.group or (),):
            places = [self._place[node] for node in group]
            parts = [self._part[node] for node in group]
            low, wide = parts[0][0], parts[0][1] - parts[0][0]
            wanted = [(low + at * wide, low + (at + 1) * wide) for at in range(len(group))]
            if parts != (wanted if does == "allgather" else [parts[0]] * len(group)):
                return [f"nodes {group} do not have the parts of the data that {does} is of"]
            if does == "allgather":
                if np.any(self._counts[places] != self._counts[places[0]]):
                    return [f"nodes {group} have not added up the same"]
                new = [(low, low + len(group) * wide)] * len(group)
            else:
                counts[places] = self._counts[places].sum(axis=0)
                cut = wide / len(group)
                new = [(low + at * cut, low + (at + 1) * cut) for at in range(len(group))]
                new = new if does == "reduce-scatter" else parts
            self._part |= dict(zip(group, new, strict=True))
            self.size = wide if does == "reduce-scatter" else wide * len(group)
        self._counts = counts
        if len({hi - lo for lo, hi in self._part.values()}) > 1:
            return ["nodes have parts of different sizes"]
        return []

    def unfinished(self, names: tuple[str, ...]) -> list[str]:
        """Say which nodes lack data in the end, or have not added up everybody once."""
        wrong = []
        for node, at in self._place.items():
            if self._part[node] != (Fraction(0), Fraction(1)):
                wrong.append(
                    f"node {names[node]} has {self._part[node][1] - self._part[node][0]} of the data in the end"
                )
            elif np.any(self._counts[at] != 1):
                other = int(np.flatnonzero(self._counts[at] != 1)[0])
                who = names[list(self._place)[other]]
                wrong.append(f"node {names[node]} has added up what {who} has {self._counts[at, other]} times")
        return wrong[:SHOWN]
