"""The order in which patches are moved, so that the fabric stays connected and few links of a host are dark at a time.

A new patch needs its two fibres, so the patches plugged in there go first, and moves hang together in chains. A stage
takes whole chains as long as no host has too many links dark, but for those that the fabric would not survive. Where it
survives no chain as a whole, a part of one is moved; the rest of that is then done before another is begun.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.topology.topology import Topology
from topodesign.wiring.change.change import Change, Key, wired_topology
from topodesign.wiring.plan.cross_connects import CrossConnect, Fibre, fibres


@dataclass(frozen=True)
class Stage:
    """Patches that are moved together.

    Attributes
    ----------
    removed, made
        What is taken out first, and what is plugged in then.
    dark
        Most links of a host, out or in, that are dark meanwhile: that were there and will have others in their place.
    during, after
        The links that are lit meanwhile and afterwards, between the hosts that are in both wirings, or after the last
        stage between all of the new one; numbered in its order.
    """

    removed: tuple[CrossConnect, ...]
    made: tuple[CrossConnect, ...]
    dark: int
    during: Topology
    after: Topology


@dataclass(frozen=True)
class _Job:
    """A new patch, or none, and the patches that have to go for it."""

    made: CrossConnect | None
    removed: tuple[CrossConnect, ...]


def stages(change: Change, most_dark: int) -> tuple[Stage, ...]:
    """Split a change into stages.

    Parameters
    ----------
    change
        What to move.
    most_dark
        Links of a host, out and in counted apart, that may be dark at a time.

    Raises
    ------
    ParameterError
        If that is below one.
    InfeasibleError
        If no order is found.
    """
    if most_dark < 1:
        raise ParameterError(f"at least one link of a host must go dark to be moved, not {most_dark}")
    work = _Work(change, most_dark)
    found = []
    while work.open or work.chains:
        found.append(work.stage())
    return tuple(found)


class _Work:
    """What is lit, and what is still to do."""

    def __init__(self, change: Change, most_dark: int) -> None:
        self.most_dark = most_dark
        self.hosts = tuple(host for host in change.after.hosts if host in change.before.node)
        self.last_hosts = change.after.hosts
        self.lit = dict.fromkeys(change.before.connects)
        self.owner = _owners(change)
        old = {fibre: connect for connect in change.removed for fibre in fibres(connect)}
        self.replaced = {fibre for connect in change.made for fibre in fibres(connect) if fibre in old}
        self.dark: Counter[Key] = Counter()
        jobs = [_Job(c, tuple(dict.fromkeys(old[f] for f in fibres(c) if f in old))) for c in change.made]
        needed = {connect for job in jobs for connect in job.removed}
        jobs += [_Job(None, (connect,)) for connect in change.removed if connect not in needed]
        self.chains = sorted(_chains(jobs), key=len, reverse=True)
        self.open: list[_Job] = []  # a chain that is begun

    def stage(self) -> Stage:
        """Choose what to move next, and move it."""
        chains = [self.open, *self.chains] if self.open else self.chains
        few = self._few_dark(chains)
        if self._survives([]):
            chosen = self._connected(few, [])
            jobs = [job for chain in chosen for job in chain] or self._part(few)
        else:  # what is not connected cannot stay so
            jobs = [job for chain in few for job in chain]
        if not jobs:
            raise InfeasibleError(
                f"no order of the moves is found with at most {self.most_dark} dark link(s) a host and a fabric that "
                f"stays connected ({sum(map(len, chains))} moves are left); allow more dark links"
            )
        return self._move(jobs)

    def _move(self, jobs: list[_Job]) -> Stage:
        removed = self._gone(jobs)
        for connect in removed:
            del self.lit[connect]
            self._darken(connect, 1)
        during, dark = wired_topology(self.hosts, self.lit), max(self.dark.values(), default=0)
        made = tuple(job.made for job in jobs if job.made is not None)
        for connect in made:
            self.lit[connect] = None
            for fibre in fibres(connect):
                if fibre in self.replaced:
                    self.dark[self.owner[fibre]] -= 1
        done = set(jobs)
        if self.open:
            self.open = [job for job in self.open if job not in done]
        left = [[job for job in chain if job not in done] for chain in self.chains]
        for chain, rest in zip(self.chains, left, strict=True):
            if rest and len(rest) < len(chain):
                self.open += rest
        self.chains = [rest for chain, rest in zip(self.chains, left, strict=True) if len(rest) == len(chain)]
        after = wired_topology(self.hosts if self.open or self.chains else self.last_hosts, self.lit)
        return Stage(removed, made, dark, during, after)

    def _few_dark(self, chains: Iterable[list[_Job]]) -> list[list[_Job]]:
        """Return chains that together darken few enough links of every host."""
        chosen: list[list[_Job]] = []
        gone: list[CrossConnect] = []
        for chain in chains:
            new = self._gone(chain)
            for connect in new:
                self._darken(connect, 1)
            if any(self.dark[self.owner[fibre]] > self.most_dark for connect in new for fibre in fibres(connect)):
                for connect in new:
                    self._darken(connect, -1)
            else:
                chosen.append(chain)
                gone += new
        for connect in gone:
            self._darken(connect, -1)
        return chosen

    def _part(self, chains: list[list[_Job]]) -> list[_Job]:
        """Return as much of one chain as can be moved, of that which is begun if there is one."""
        parts = (self._connected([[job] for job in chain], []) for chain in chains)
        return [job for part in next(filter(None, parts), []) for job in part]

    def _connected(self, chains: list[list[_Job]], base: list[_Job]) -> list[list[_Job]]:
        """Return chains that with some jobs leave the fabric connected: all, or those of each half that do."""
        if not chains or self._survives([*base, *(job for chain in chains for job in chain)]):
            return chains
        if len(chains) == 1:
            return []
        half = len(chains) // 2
        first = self._connected(chains[:half], base)
        return first + self._connected(chains[half:], [*base, *(job for chain in first for job in chain)])

    def _survives(self, jobs: list[_Job]) -> bool:
        from scipy.sparse import csr_array  # noqa: PLC0415  heavy
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

        if not self.hosts:
            return True
        gone = set(self._gone(jobs))
        left = wired_topology(self.hosts, (connect for connect in self.lit if connect not in gone))
        matrix = csr_array((np.ones(len(left.src)), (left.src, left.dst)), shape=(left.nodes, left.nodes))
        return bool(connected_components(matrix, connection="strong")[0] == 1)

    def _gone(self, jobs: Iterable[_Job]) -> tuple[CrossConnect, ...]:
        """Return the patches that still have to go for jobs."""
        return tuple(dict.fromkeys(c for job in jobs for c in job.removed if c in self.lit))

    def _darken(self, connect: CrossConnect, sign: int) -> None:
        for fibre in fibres(connect):
            if fibre in self.replaced:
                self.dark[self.owner[fibre]] += sign


def _owners(change: Change) -> dict[Fibre, Key]:
    """Return the host and side of every fibre that is moved."""
    return {
        fibre: (end.host, fibre.side)
        for connect in (*change.removed, *change.made)
        for fibre, end in zip(fibres(connect), (connect.a, connect.b), strict=True)
    }


def _chains(jobs: list[_Job]) -> list[list[_Job]]:
    """Group jobs that need the same patches gone."""
    users: dict[CrossConnect, list[_Job]] = defaultdict(list)
    for job in jobs:
        for connect in job.removed:
            users[connect].append(job)
    found, done = [], set()
    for first in jobs:
        if first in done:
            continue
        done.add(first)
        chain, todo = [], [first]
        while todo:
            job = todo.pop()
            chain.append(job)
            new = [user for connect in job.removed for user in users[connect] if user not in done]
            done.update(new)
            todo += dict.fromkeys(new)
        found.append(chain)
    return found
