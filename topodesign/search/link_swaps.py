"""Digraphs of little distance, by swapping links, and the least sum of distances that can be."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from topodesign.base.cost import moore_bound
from topodesign.base.deadline import Stopwatch
from topodesign.base.errors import MissingLibraryError
from topodesign.solve.discrete import Discrete

_CIRCULANTS = 40  # circulants among the topologies that are priced at most

Pairs = frozenset[tuple[int, int]]


def distance_sum(out: list[int]) -> tuple[int, int]:
    """Return the sum of all distances, N^3 if there are none, and the largest; links are bits of a word a node."""
    nodes = len(out)
    everyone, total, far = (1 << nodes) - 1, 0, 0
    for node in range(nodes):
        seen = edge = 1 << node
        at = 0
        while seen != everyone:
            at, new = at + 1, 0
            while edge:
                low = edge & -edge
                new |= out[low.bit_length() - 1]
                edge ^= low
            edge = new & ~seen
            if not edge:
                return nodes**3, nodes
            seen |= edge
            total += at * edge.bit_count()
        far = max(far, at)
    return total, far


class Swaps:
    """Regular digraphs, changed by two links that exchange their ends, towards short distances."""

    def __init__(self, nodes: int, degree: int, duplex: bool, random: np.random.Generator) -> None:
        self.nodes, self.degree, self.duplex, self.random = nodes, degree, duplex, random
        self.least = nodes**3 - 1
        self.patience = 40 * nodes * degree

    def circulants(self) -> Iterator[Pairs]:
        """Yield digraphs in which node i has links to i plus some jumps, those with short distances first."""
        nodes = range(self.nodes)
        found = []
        for jumps in itertools.combinations(nodes[1:], self.degree):
            if self.duplex and any(self.nodes - jump not in jumps for jump in jumps):
                continue
            links = [(u, (u + jump) % self.nodes) for u in nodes for jump in jumps]
            out = [sum(1 << v for u, v in links if u == node) for node in nodes]
            found.append((distance_sum(out), links))
        found.sort()
        for (total, _), links in found[:_CIRCULANTS]:
            if total < self.nodes**3:
                yield frozenset(links)

    def found(self, watch: Stopwatch, until: float) -> Iterator[Pairs]:
        """Yield digraphs with the least sum of distances so far, from one random start after the other."""
        while watch() < until:
            links = self._start()
            total = distance_sum(self._bits(links))[0]
            idle = 0
            while idle < self.patience and watch() < until:
                idle += 1
                old = self._swap(links)
                if old is None:
                    continue
                now = distance_sum(self._bits(links))[0]
                if now > total:
                    for place, link in old:
                        links[place] = link
                    continue
                idle = 0 if now < total else idle
                total = now
            if total <= self.least:
                self.least = total
                yield frozenset(self._all(links))

    def _start(self) -> list[tuple[int, int]]:
        """Return a circulant, links numbered anew by chance; of two-way links one of each pair."""
        nodes, degree = self.nodes, self.degree
        name = self.random.permutation(nodes).tolist()
        if not self.duplex:
            return [(name[u], name[(u + jump) % nodes]) for u in range(nodes) for jump in range(1, degree + 1)]
        jumps = range(1, degree // 2 + 1)
        links = [(name[u], name[(u + jump) % nodes]) for u in range(nodes) for jump in jumps]
        if degree % 2:
            links += [(name[u], name[u + nodes // 2]) for u in range(nodes // 2)]
        return links

    def _all(self, links: list[tuple[int, int]]) -> list[tuple[int, int]]:
        return [*links, *((v, u) for u, v in links)] if self.duplex else links

    def _bits(self, links: list[tuple[int, int]]) -> list[int]:
        out = [0] * self.nodes
        for u, v in self._all(links):
            out[u] |= 1 << v
        return out

    def _swap(self, links: list[tuple[int, int]]) -> list[tuple[int, tuple[int, int]]] | None:
        """Let two links exchange their ends; returns how it was, or None if that would make a loop or a pair twice."""
        one, other = self.random.integers(0, len(links), size=2).tolist()
        (a, b), (c, d) = links[one], links[other]
        if self.duplex and self.random.integers(2):
            c, d = d, c
        known = set(self._all(links))
        if len({a, c}) < 2 or len({b, d}) < 2 or a == d or b == c or (a, d) in known or (c, b) in known:
            return None
        old = [(one, links[one]), (other, links[other])]
        links[one], links[other] = (a, d), (c, b)
        return old


def least_sum(nodes: int, degree: int, duplex: bool, limits: tuple[int, int], seconds: float) -> int:
    """Return what no sum of distances undercuts, between two limits, the second of which is that of some topology.

    Without OR-tools, or time, it is the first.
    """
    least, known = limits
    if known <= least or seconds <= 0:
        return least
    program = Discrete()
    everyone = range(nodes)
    link = {(u, v): program.flag() for u in everyone for v in everyone if u != v}
    for u in everyone:
        program.row([(1, link[u, v]) for v in everyone if v != u], degree, degree)
        program.row([(1, link[v, u]) for v in everyone if v != u], degree, degree)
    if duplex:
        for (u, v), flag in link.items():
            program.implies(flag, link[v, u])
    for v in range(1, nodes):  # one numbering of each digraph: the first node has links to the next ones
        program.row([(1, link[0, v])], int(v <= degree), int(v <= degree))
    # Not to be reached within h links, for how many h from 0 on: that is the distance, as far as h is counted.
    depth = moore_bound(nodes, degree, duplex=duplex) + 1
    near = link
    layers = [near]
    for _ in range(depth - 1):
        near = _one_more(program, near, link, nodes)
        layers.append(near)
    terms = [(1, flag) for layer in layers for flag in layer.values()]
    own = [(1, flag) for layer in layers for (u, _), flag in layer.items() if u == 0]
    pairs = nodes * (nodes - 1)
    program.row(terms, pairs * (depth + 1) - (known - 1))
    # The first node is one that is as near to the others as the mean of all nodes.
    program.row(own, (nodes - 1) * (depth + 1) - (known - 1) // nodes)
    program.minimise([(-1, flag) for _, flag in terms])
    try:
        verdict = program.solve(seconds=seconds)
    except MissingLibraryError:
        return least
    if verdict == "infeasible":
        return known
    # Stopped before it knows anything, the solver says 0, which no topology with a link has.
    return max(least, pairs * (depth + 1) + program.bound) if program.bound else least


def _one_more(
    program: Discrete, near: dict[tuple[int, int], int], link: dict[tuple[int, int], int], nodes: int
) -> dict[tuple[int, int], int]:
    """Return flags of pairs that can be reached with one more link."""
    more = {pair: program.flag() for pair in near}
    for (u, v), flag in more.items():
        over = []
        for via in range(nodes):
            if via not in {u, v}:
                both = program.flag()
                program.implies(both, near[u, via])
                program.implies(both, link[via, v])
                over.append(both)
        program.row([(-1, flag), (1, near[u, v]), *((1, both) for both in over)], 0)
    return more
