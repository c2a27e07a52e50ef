"""Data of nodes through stages, and counted sums."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.plans.flow import Flow
from topodesign.plans.verify.data_kernels import SHOWN
from topodesign.plans.verify.verdict import Words
from topodesign.topology.topology import IntArray


class Stages:
    """Exact parts of data and sums per node, through stages."""

    def __init__(self, nodes: IntArray) -> None:
        self._place = {node: at for at, node in enumerate(nodes.tolist())}
        self._counts = np.eye(len(nodes), dtype=np.int64)  # how often a node has added up what each began with
        self._part = {node: (Fraction(0), Fraction(1)) for node in self._place}
        self.size = Fraction(0)  # what a group has in all in the last stage, of the whole data

    def follow(self, flow: Flow) -> list[str]:
        """Apply a right stage; return what is wrong."""
        counts = self._counts.copy()
        gathers = not flow.collective.reduces
        for one in flow.collective.single:
            group = one.group or tuple(self._place)
            places = [self._place[node] for node in group]
            parts = [self._part[node] for node in group]
            low, wide = parts[0][0], parts[0][1] - parts[0][0]
            wanted = [(low + at * wide, low + (at + 1) * wide) for at in range(len(group))]
            if parts != (wanted if gathers else [parts[0]] * len(group)):
                return [f"nodes {group} do not have the parts of the data that {flow.collective.name} is of"]
            if gathers:
                if np.any(self._counts[places] != self._counts[places[0]]):
                    return [f"nodes {group} have not added up the same"]
                new = [(low, low + len(group) * wide)] * len(group)
            else:
                counts[places] = self._counts[places].sum(axis=0)
                cut = wide / len(group)
                new = parts if flow.one_shot else [(low + at * cut, low + (at + 1) * cut) for at in range(len(group))]
            self._part |= dict(zip(group, new, strict=True))
            self.size = wide * (len(group) if gathers else 1)
        self._counts = counts
        if len({hi - lo for lo, hi in self._part.values()}) > 1:
            return ["nodes have parts of different sizes"]
        return []

    def finish(self, words: Words) -> list[str]:
        """Describe nodes with missing data or sums."""
        wrong = []
        for node, at in self._place.items():
            lo, hi = self._part[node]
            if (lo, hi) != (Fraction(0), Fraction(1)):
                wrong.append(f"node {words.node(node)} has {hi - lo} of the data in the end")
            elif np.any(self._counts[at] != 1):
                other = int(np.flatnonzero(self._counts[at] != 1)[0])
                who = words.node(list(self._place)[other])
                wrong.append(f"node {words.node(node)} has added up what {who} has {self._counts[at, other]} times")
        return wrong[:SHOWN]
