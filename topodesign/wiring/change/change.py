"""Change from existing to wanted wiring, with few moves.

Hosts can change their roles without anybody touching a cable, so the nodes of the wanted topology go where most links
stay (:mod:`topodesign.wiring.change.relabel`). Both ends of a patch must be in one field of panels, so that hosts and
fields are chosen together (:mod:`topodesign.wiring.change.fields`); new patches get fibres that are or become free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from topodesign.base.claims import Proof
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.wording import count_noun
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.change.fields import MAX_EXHAUSTED, Placement, Problem
from topodesign.wiring.change.patches import Change, Patches, make_topology
from topodesign.wiring.change.relabel import most_kept, relabel
from topodesign.wiring.plan.cabling import count_lanes
from topodesign.wiring.plan.cross_connects import CrossConnect, fibres
from topodesign.wiring.plan.decompose import without_loops
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import lanes_needed, make_plan
from topodesign.wiring.plan.two_sided import orient_links, split_sided

_SECONDS = 5.0  # to turn and split links over the sides of switches where no theorem helps


def fewest_moves(
    plan: WiringPlan,
    wanted: Topology,
    *,
    hosts: Sequence[str] | None = None,
    seed: int = 0,
    prefer: Iterable[CrossConnect] = (),
    own: WiringPlan | None = None,
) -> Change:
    """Plan the fewest moves from a wiring to a topology.

    Of several ways the one with fewest moves is taken: the hosts in the order that keeps most links, in that of the
    plan as it is, and as they are in a plan that is wanted, with fields of our choice or with its own; from the best,
    hosts and fields are changed together (:mod:`topodesign.wiring.change.fields`).

    Patches that ``prefer`` names are kept, or made as they are there, where there is a choice. ``own`` is a plan that
    makes the topology already: with its hosts and patches, if these fit the fixed cabling.
    """
    if wanted.switches:
        raise ParameterError("a wiring plan joins hosts directly; the topology has switches")
    if plan.mode == "duplex" and not wanted.is_duplex:
        raise InfeasibleError("the wiring is duplex, and the topology has links without their reverse")
    search = _Search(plan, wanted, tuple(prefer), own, seed)
    if plan.inventory.two_sided:
        changes, most, proof = search.change_sided(None if hosts is None else _check_hosts(plan, hosts, wanted))
    else:
        found, most, proof = search.free() if hosts is None else search.place_hosts(_check_hosts(plan, hosts, wanted))
        changes = [search.change(found, most)]
    if own is not None and not changes[0].fewest and (hosts is None or tuple(hosts) == own.hosts):
        changes += _as_in(plan, own, most, changes[0].moves)
    return replace(min(changes, key=lambda change: change.moves), placed=hosts is not None, proof=proof)


class _Search:
    """Search for hosts and panel groups, by name."""

    def __init__(
        self, plan: WiringPlan, wanted: Topology, prefer: tuple[CrossConnect, ...], own: WiringPlan | None, seed: int
    ) -> None:
        self.plan, self.wanted, self.prefer, self.own, self.seed = plan, wanted, prefer, own, seed
        self.wiring = wiring = Patches(plan)
        self.lanes = Counter(end.host for end in wiring.ends)
        self.hosts = [*plan.hosts, *(host for host in self.lanes if host not in plan.node)]
        self.number = {host: number for number, host in enumerate(self.hosts)}
        self.fields = list(dict.fromkeys(wiring.field.values()))
        self.field = {name: number for number, name in enumerate(self.fields)}
        room = count_lanes(plan.inventory, wiring.ends, self.hosts, plan.mode)[:, : len(set(wiring.spots))]
        self.room = room
        self.spots = [self._spot(connect, self.number) for connect in plan.connects]
        self.problem = Problem(wanted, room[:, :1] if plan.inventory.two_sided else room, self.spots)
        preferred = set(map(fibres, prefer))
        self.first = sorted(range(len(plan.connects)), key=lambda n: fibres(plan.connects[n]) not in preferred)
        self.given: list[IntArray] = []
        if own is not None and own.mode == plan.mode and {c.a.panel for c in own.connects} <= set(wiring.field):
            self._give(own)

    def place_hosts(self, hosts: Sequence[str]) -> tuple[Placement, int, Proof]:
        """Return panel groups for given hosts, and the proven limit.

        The limit is the maximum number of patches that can stay.
        """
        place = self._place(hosts)
        found, searched = self.problem.search_all(self._place_groups(place), swaps=False)
        return found, found.kept if searched else self.problem.could_keep(place), _by(searched=searched)

    def free(self) -> tuple[Placement, int, Proof]:
        """Return hosts and panel groups, and the proven limit.

        The limit is the maximum number of patches that can stay.
        """
        options, most, proof = self._orders()
        found: list[Placement] = []
        refused: list[InfeasibleError] = []
        for place in dict.fromkeys(map(self._place, options)):
            if found and self.problem.could_keep(place) <= max(one.kept for one in found):
                continue
            try:
                found.append(self._place_groups(place))
                if len(self.hosts) <= MAX_EXHAUSTED or self.problem.could_keep(place) >= most:
                    found[-1] = self.problem.search_all(found[-1], swaps=False)[0]
            except InfeasibleError as error:
                refused.append(error)
            if found and found[-1].kept == most:
                return found[-1], most, proof
        if not found:
            found.append(self._plan_anew(refused[0]))
        best = self.problem.improve(max(found, key=lambda one: one.kept), most, seed=self.seed)
        best, searched = self.problem.search_all(best, swaps=True)
        return best, best.kept if searched else most, Proof.SEARCH if searched else proof

    def change_sided(self, hosts: Sequence[str] | None) -> tuple[list[Change], int, Proof]:
        """Return changes over two-sided switches, and the proven limit.

        The limit is the maximum number of patches that can stay.

        Links are turned as patches are that could stay, as in a plan that is wanted, and as they are split anew.
        """
        base = self.problem
        if hosts is None:
            options, most, proof = self._orders()
            places = list(dict.fromkeys(map(self._place, options)))
        else:
            places = [self._place(hosts)]
            most, proof = base.could_keep(places[0]), Proof.BOUND
        changes: list[Change] = []
        refused: list[InfeasibleError] = []
        u, v = base.nodes.T
        for place in places:
            names = [self.hosts[number] for number in place[: self.wanted.nodes]]
            room = self.room[np.array(place[: self.wanted.nodes])]
            ways = [orient_links(u, v, _match_directions(base, self.spots, place), room)]
            if self.own is not None and self.own.hosts == tuple(names):
                own = np.array([self.own.link_of(one) for one in self.own.connects], dtype=np.int64).reshape(-1, 2)
                ways.append((own[:, 0], own[:, 1]))
            try:
                src, dst, part = split_sided(self.wanted, room, names, seed=self.seed, seconds=_SECONDS)
                ways.append((src, dst))
            except InfeasibleError as error:
                refused.append(error)
            for way in (one for one in ways if one is not None):
                arcs = Topology.from_links(self.wanted.nodes, np.stack(way, axis=1).tolist())
                self.problem = Problem(arcs, self.room, self.spots)
                self.given = []
                if self.own is not None and self.own.mode == self.plan.mode:
                    self._give(self.own)
                if way is ways[-1] and not refused:
                    known = self.problem.fields_of(zip(src.tolist(), dst.tolist(), part.tolist(), strict=True))
                    self.given += [] if known is None else [known]
                try:
                    found = self._place_groups(place)
                except InfeasibleError as error:
                    refused.append(error)
                    continue
                found = self.problem.improve(found, most, seed=self.seed) if hosts is None else found
                self.wiring = Patches(self.plan)
                changes.append(self.change(found, most))
                if changes[-1].fewest:
                    return changes, most, proof
        if not changes:
            raise refused[0]
        return changes, most, proof

    def change(self, found: Placement, most: int) -> Change:
        """Return the change to given hosts and panel groups.

        ``most`` is the maximum number of patches that can stay.
        """
        hosts = tuple(self.hosts[number] for number in found.place[: self.wanted.nodes])
        links = Counter(
            ((hosts[u], hosts[v]), self.fields[field])
            for (u, v), field in zip(self.problem.nodes.tolist(), found.field.tolist(), strict=True)
        )
        missing = self.wiring.keep(links, (self.plan.connects[number] for number in self.first))
        made = self.wiring.patches(missing, self.prefer)
        at_least = max(links.total(), len(self.plan.connects)) - most
        return self.wiring.make_change(self.wanted, hosts, made, at_least)

    def _place_groups(self, place: tuple[int, ...]) -> Placement:
        problem = self.problem
        needed = problem.count_needed()
        for node, host in enumerate(self.hosts[number] for number in place[: self.wanted.nodes]):
            if needed[node] > self.lanes[host]:
                raise InfeasibleError(
                    f"host '{host}' has {count_noun(self.lanes[host], 'lane')} at panels and requires {needed[node]}; "
                    "cable more of its lanes, or take another host"
                )
        found = problem.place_groups(place, seed=self.seed, given=self.given, first=self.first)
        if found is None:
            raise InfeasibleError(
                "no way is found to spread the links over the fields of panels with these hosts as the nodes; "
                "let other hosts be them, or cable the lanes of all hosts to the panels alike"
            )
        return found

    def _orders(self) -> tuple[list[tuple[str, ...]], int, Proof]:
        """Return candidate host orders, and the proven limit.

        And how many patches can stay with any hosts, with what says so.
        """
        plan, wanted = self.plan, self.wanted
        needed = lanes_needed(wanted)
        roomy = [host for host in self.hosts if self.lanes[host] >= needed.max()]
        chosen = roomy if len(roomy) >= wanted.nodes else self.hosts
        found = relabel(make_topology(chosen, plan.connects), wanted, seed=self.seed)
        most, proof = found.most, _by(searched=found.searched)
        if len(chosen) < len(self.hosts) and needed.min() < needed.max():  # less room would do for some nodes
            most, proof = most_kept(make_topology(self.hosts, plan.connects), without_loops(wanted)), Proof.BOUND
        options = [tuple(chosen[place] for place in found.place), tuple(self.hosts[: wanted.nodes])]
        options += [self.own.hosts] if self.own is not None and set(self.own.hosts) <= set(self.hosts) else []
        return options, most // (2 if plan.mode == "duplex" else 1), proof

    def _plan_anew(self, refused: InfeasibleError) -> Placement:
        """Return hosts and panel groups of a new plan."""
        room = replace(self.plan.inventory, cabling=self.plan.fixed)
        try:
            plan = make_plan(self.wanted, room, mode=self.plan.mode, seed=self.seed)
        except InfeasibleError:
            raise refused from None
        self._give(plan)
        return self._place_groups(self._place(plan.hosts))

    def _give(self, plan: WiringPlan) -> None:
        """Add a plan's panel groups as a candidate."""
        found = self.problem.fields_of(self._spot(connect, plan.node) for connect in plan.connects)
        self.given += [] if found is None else [found]

    def _place(self, hosts: Sequence[str]) -> tuple[int, ...]:
        """Return the indices of given hosts, then all others."""
        chosen = dict.fromkeys(self.number[host] for host in hosts)
        return (*chosen, *(number for number in range(len(self.hosts)) if number not in chosen))

    def _spot(self, connect: CrossConnect, number: dict[str, int]) -> tuple[int, int, int]:
        """Return a patch's two ends and panel group, by index."""
        panel = self.plan.inventory.panel[connect.a.panel]
        return number[connect.a.host], number[connect.b.host], self.field[panel.field]


def _match_directions(problem: Problem, patches: Sequence[tuple[int, int, int]], place: Sequence[int]) -> list[int]:
    """Return each link's matching patch direction: 1, -1 or 0."""
    there = Counter((a, b) for a, b, _ in patches)
    wished = []
    for u, v in problem.nodes.tolist():
        a, b = place[u], place[v]
        way = 1 if there[a, b] else -1 if there[b, a] else 0
        there[(a, b) if way > 0 else (b, a)] -= way != 0
        wished.append(way)
    return wished


def _by(*, searched: bool) -> Proof:
    return Proof.SEARCH if searched else Proof.BOUND


def _as_in(plan: WiringPlan, own: WiringPlan, most: int, below: int) -> list[Change]:
    """Return the change to another plan's patches, if possible."""
    ends = {end for connect in own.connects for end in (connect.a, connect.b)}
    if own.mode != plan.mode or any(plan.net.end.get(end.place) != end for end in ends):
        return []
    wiring = Patches(plan)
    wanted = {frozenset(fibres(connect)): connect for connect in own.connects}
    there = {frozenset(fibres(connect)): connect for connect in plan.connects}
    if max(len(wanted), len(there)) - len(wanted.keys() & there.keys()) >= below:
        return []
    wiring.kept = [connect for places, connect in there.items() if places in wanted]
    wiring.removed = [connect for places, connect in there.items() if places not in wanted]
    made = wiring.name_patches([(c.a, c.b) for places, c in wanted.items() if places not in there], {})
    return [wiring.make_change(own.topology, own.hosts, made, max(len(wanted), len(there)) - most)]


def _check_hosts(plan: WiringPlan, hosts: Sequence[str], wanted: Topology) -> tuple[str, ...]:
    if len(hosts) != wanted.nodes or len(set(hosts)) != len(hosts):
        raise ParameterError(f"{wanted.nodes} nodes require as many hosts, all different")
    unknown = sorted(set(hosts) - {fixed.host for fixed in plan.fixed})
    if unknown:
        raise InfeasibleError(f"host '{unknown[0]}' is not cabled to a panel in the plan")
    return tuple(hosts)
