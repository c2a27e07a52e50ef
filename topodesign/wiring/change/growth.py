"""Topologies for more nodes near a wiring.

Some come from the catalog, on the hosts where most patches stay. Others are the topology that there is with new nodes
in its links: on every switch some patches are taken out, and each of their ends goes to a new node that has a lane
there. So nothing else moves, no link has to change its switch, and the number of moves is known. Some of the lanes of
new nodes may be joined to each other, which moves fewer patches and makes longer ways.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Unpack

import numpy as np

from topodesign.base.arguments import as_integer, as_path, as_seed, as_several
from topodesign.base.atomic import write_directory
from topodesign.base.declared import Declared, key
from topodesign.base.dominance import find_unbeaten
from topodesign.base.errors import CatalogError, DisconnectedError, InfeasibleError
from topodesign.base.options import read, takes
from topodesign.base.progress import Progress, tell
from topodesign.base.records import Table
from topodesign.base.units import format_time
from topodesign.base.wording import count_noun
from topodesign.catalog.lookup import CatalogLike
from topodesign.finder import sources
from topodesign.finder.answer import Answer
from topodesign.finder.candidate import Candidate, Entry, measure
from topodesign.finder.find import find, rank_from_rows
from topodesign.finder.options import FindOptions
from topodesign.finder.question import Question
from topodesign.finder.runners_up import RunnersUp, pick_runners_up
from topodesign.pricing.evaluation import price_both
from topodesign.topology.files import write_links
from topodesign.topology.library import TopologyLike
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.change.change import fewest_moves
from topodesign.wiring.change.grow import in_room
from topodesign.wiring.change.patches import make_topology
from topodesign.wiring.change.relabel import most_kept
from topodesign.wiring.inventory.answers import extend_room
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.plan import WiringPlan

_SHARES = Fraction(0), Fraction(1, 4), Fraction(1, 2)  # of the lanes of new nodes that are joined to each other
_TRIES, _PRICED = 12, 2  # ways to insert nodes, and the fastest of these by quick prices, of which one is taken
_REDRAWN = 50  # times that an end is drawn again, to have no parallel links
_FROM_CATALOG = 4


@dataclass(frozen=True)
class GrowthOption(Declared):
    """Topology for more nodes."""

    entry: Entry  # the topology with its price and times; nodes that there were come first, where others were inserted
    moves: int  # patches to move to get there
    at_least: int  # patches that any change to it moves
    file: str = ""  # the name of the file of its links

    KEYS = (
        key("name=entry.spec", "Its spec, or what was inserted."),
        "file moves bound=at_least",
        key("steps=entry.cost.steps", "Communication steps; the latency is alpha times this."),
        key("bandwidth=entry.cost.bandwidth", "Bandwidth factor y of its reduce-scatter."),
        key(
            "allreduce_s",
            "Seconds of an allreduce, for each size.",
            kind=tuple[float, ...],
            value=lambda one: map(float, one.entry.allreduce),
        ),
        key("times_s=float(entry.times)", "Seconds of each question."),
    )

    @property
    def name(self) -> str:
        """Spec, or a description of the insertion."""
        return self.entry.spec

    @property
    def topology(self) -> Topology:
        """Links of the topology."""
        return self.entry.topology


@dataclass(frozen=True, repr=False)
class Growth(Answer):
    """Topologies for more nodes, fewest patch moves first."""

    plan: WiringPlan  # the wiring that there is
    question: Question
    topologies: tuple[GrowthOption, ...]  # none is both slower (for the first question) and of more moves than another
    candidates: tuple[GrowthOption, ...] = ()  # your own that are not among these
    runners_up: RunnersUp | None = None  # what comes next to the fastest, where that was asked for

    KEYS = (
        key("grown_from=plan.topology.nodes", "Nodes of the wiring that there is."),
        "nodes degree *workload",
        key("sizes_bytes", "Sizes of the data.", kind=tuple[int, ...], value=lambda one: map(int, one.workload.sizes)),
        "questions topologies",
        key("candidates?=or_null(candidates)", "With --candidates: those that are slower and move no fewer patches."),
        key("runners_up?=or_null(next_best)", "With --top: what comes next to the fastest."),
    )
    ROWS = "topologies"

    @property
    def fastest(self) -> Entry:
        """Fastest topology for the first question."""
        return min((one.entry for one in self.topologies), key=lambda one: one.times[0])

    def heading(self) -> str:
        """Return a summary of the growth."""
        objective = self.question.objective
        asked = "" if objective.collective == "allreduce" else f"; {objective.words}"
        return f"{self.plan.topology.nodes} nodes to {self.nodes} of degree {self.degree}, by moves{asked}"

    def table(self) -> Table:
        """Return one row per topology."""
        rows = [
            (
                str(one.moves),
                str(one.at_least),
                str(one.entry.cost.steps),
                f"{float(one.entry.factor):.4f}",
                *map(format_time, one.entry.times),
                one.name,
            )
            for one in (*self.topologies, *self.candidates)
        ]
        columns = ("moves", "bound", "steps", "BW factor", *self.question.objective.titles, "topology")
        compared = len(self.topologies) if self.candidates else None
        words = frozenset(("topology",))
        return Table(self.heading(), columns, tuple(rows), words=words, compared=compared)

    def save(self, directory: str | Path) -> tuple[str, ...]:
        """Write the links of every topology; return file names.

        The directory must be new.
        """
        files = {one.file: write_links(one.topology, "json") for one in self.topologies}
        write_directory(as_path(directory), files)
        return tuple(files)


@takes(FindOptions)
def grow(
    plan: WiringLike,
    nodes: int,
    degree: int,
    *,
    bidirectional: bool = False,
    catalog: CatalogLike = None,
    candidates: Iterable[TopologyLike] = (),
    progress: Progress | None = None,
    **options: Unpack[FindOptions],
) -> Growth:
    """Find topologies for more nodes near an existing wiring.

    Parameters
    ----------
    plan
        The wiring, or the path of its file.
    nodes, degree
        Of the topologies; new nodes are cabled like the others.
    bidirectional
        Only topologies that duplex cabling can wire, also where the wiring is simplex.
    catalog
        Where to look, or its directory; the shipped one by default; False to look near the wiring alone.
    candidates
        Topologies of your own of this size.
    progress
        Told the share that is done.
    **options
        Objective, latency, sizes and bandwidth, as for :func:`topodesign.pareto`. With ``search`` topologies of the
        size are searched for. The ``seed`` is also of the links that nodes are inserted in, and of the order of hosts.

    Returns
    -------
    Growth
        Its ``save`` writes files of links, to which :func:`topodesign.change_wiring` changes the wiring.

    Raises
    ------
    ParameterError
        If there are not more nodes than there were, or something is out of range.
    InfeasibleError
        If nothing is found for this number of nodes and ports.

    Examples
    --------
    >>> from topodesign import grow, plain_inventory, plan_wiring
    >>> found = grow(plan_wiring("circulant(12,2,3)", plain_inventory(12, 4)), 16, 4)
    >>> [(one.name, one.moves, one.at_least) for one in found.topologies]
    [('circulant(16,3,4)', 12, 12)]
    """
    wiring, given = as_wiring(plan), read(FindOptions, options, "grow")
    seed = as_seed(given["seed"] or 0)
    old = len(wiring.hosts)
    nodes, degree = as_integer("nodes", nodes, old + 1), as_integer("degree", degree, 1)
    room = GrowingSite(wiring, nodes)
    asked = Question.read(nodes, degree, options, duplex=bidirectional or room.duplex, catalog=catalog)
    asked = asked if asked.seconds is not None else replace(asked, seed=None)
    own = sources.as_candidates(as_several("candidates", candidates), nodes, degree, duplex=asked.duplex)
    known = _find_known(asked)
    todo = [*known, *(entry for one in own if (entry := measure(one, asked)) is not None)]
    found: list[GrowthOption] = []
    for number, entry in enumerate(todo):
        tell(progress, number / (len(todo) + 1))
        one = room.place(entry, seed)
        found += [] if one is None else [one]
    found += room.find_inserted(asked, seed)
    if not found:
        raise InfeasibleError(
            f"nothing is known for {nodes} nodes of degree {degree}, and nodes have {room.degree} links"
        )
    front = find_unbeaten(found, lambda one: (one.moves, one.entry.times[0]), lambda one: one.entry.times)
    named = tuple(replace(one, file=f"grown{number}.json") for number, one in enumerate(front, start=1))
    slower = tuple(one for one in found if one.entry.source == "own" and one not in front)
    answer = Growth(wiring, asked, named, slower)
    if not given["runners_up"]:
        return answer
    more = pick_runners_up(given["runners_up"], answer.fastest, [one.entry for one in found], progress)
    return replace(answer, runners_up=replace(more, among="those that were looked at"))


def _find_known(asked: Question) -> list[Entry]:
    """Return the best known topologies of a size."""
    try:
        if asked.catalog is not None and (asked.objective.collective != "allreduce" or asked.seconds is not None):
            return list(find(asked).entries[:_FROM_CATALOG])
        if asked.catalog is None:
            return []
        rows = asked.catalog.frontier(asked.nodes, asked.degree, duplex=asked.duplex)
        return list(rank_from_rows(rows, asked).entries[:_FROM_CATALOG]) if rows else []
    except (CatalogError, InfeasibleError):
        return []


class GrowingSite:
    """Wiring with new hosts cabled like the others."""

    def __init__(self, plan: WiringPlan, nodes: int) -> None:
        self.plan = plan
        self.old, self.nodes, self.duplex = len(plan.hosts), nodes, plan.mode == "duplex"
        self.fields = list(plan.inventory.fields)
        number = {name: self.fields.index(panel.field) for name, panel in plan.inventory.panel.items()}
        self.patches = [(*plan.link_of(connect), number[connect.a.panel]) for connect in plan.connects]
        used = np.zeros((self.old, len(self.fields)), dtype=np.int64)
        for u, v, place in self.patches:
            used[u, place] += 1
            if self.duplex:
                used[v, place] += 1
        self.used: IntArray = np.array(Counter(map(tuple, used.tolist())).most_common(1)[0][0], dtype=np.int64)
        self.degree = int(self.used.sum())
        hosts = [*plan.hosts, *(f" {place}" for place in range(nodes - self.old))]
        self.existing = make_topology(hosts, plan.connects)

    def place(self, entry: Entry, seed: int) -> GrowthOption | None:
        """Return the change to a topology in a room with enough hosts, or None."""
        try:
            room = extend_room(self.plan.inventory, self.nodes, entry.topology.degree).inventory
            moved = in_room(self.plan, room, entry.topology)
            change = fewest_moves(moved.plan, entry.topology, seed=seed)
        except InfeasibleError:
            return None
        return GrowthOption(entry, change.moves, change.at_least)

    def find_inserted(self, asked: Question, seed: int) -> list[GrowthOption]:
        """Return the fastest insertion of nodes per lane share.

        The share is that of their lanes connected to each other.
        """
        shares = _SHARES if self.degree == asked.degree else ()
        return [best for share in shares if (best := _find_fastest(self, share, asked, seed)) is not None]

    def insert_nodes(self, share: Fraction, rng: np.random.Generator) -> tuple[Topology, int] | None:
        """Insert nodes into links of every panel group.

        Returns the topology and its moves; None if an end finds no place.
        """
        linked = Counter((u, v) for u, v, _ in self.patches)
        if self.duplex:
            linked += Counter((v, u) for u, v, _ in self.patches)
        links: list[tuple[int, int]] = []
        moves = 0
        new = np.arange(self.old, self.nodes)
        for field, width in enumerate(self.used.tolist()):
            here = [(u, v) for u, v, place in self.patches if place == field]
            ends = [rng.permutation(np.repeat(new, width)).tolist() for _ in range(1 if self.duplex else 2)]
            inner = int(share * len(ends[0])) // (2 if self.duplex else 1)
            made = _connect_lanes(ends, inner, linked)
            outer = len(ends[0]) // 2 if self.duplex else len(ends[0])
            gone = set(rng.choice(len(here), min(outer, len(here)), replace=False).tolist())
            for place in gone:
                u, v = here[place]
                x = _find_taken(ends[-1], lambda x, u=u: linked[u, x])  # type: ignore[misc]
                y = _find_taken(ends[0], lambda y, v=v: linked[y, v])  # type: ignore[misc]
                if x is None or y is None:
                    return None
                made += [(u, x), (y, v)]
                linked.update([(u, x), (y, v), *([(x, u), (v, y)] if self.duplex else [])])
            links += [pair for place, pair in enumerate(here) if place not in gone] + made
            moves += len(made)
        both = [*links, *((v, u) for u, v in links)] if self.duplex else links
        return Topology.from_links(self.nodes, both), moves


def _connect_lanes(ends: list[list[int]], count: int, linked: Counter[tuple[int, int]]) -> list[tuple[int, int]]:
    """Connect lanes of new nodes to each other."""
    made: list[tuple[int, int]] = []
    for _ in range(count):
        x = ends[0].pop()
        y = _find_taken(ends[-1], lambda y, x=x: y == x or linked[x, y])  # type: ignore[misc]
        if y is None:
            ends[0].append(x)
            break
        made.append((x, y))
        linked.update([(x, y), (y, x)] if len(ends) == 1 else [(x, y)])
    return made


def _find_taken(ends: list[int], bad: Callable[[int], object]) -> int | None:
    for place in range(len(ends) - 1, max(len(ends) - 1 - _REDRAWN, -1), -1):
        if not bad(ends[place]):
            return ends.pop(place)
    return None


def _find_fastest(room: GrowingSite, share: Fraction, asked: Question, seed: int) -> GrowthOption | None:
    """Return the fastest insertion of nodes with a lane share.

    All are priced by SPFF and bounds of all-to-all, which is quick, and the fastest few of them by all plans known.
    """
    more = f", {100 * share}% of their lanes joined" if share else ""
    name = f"{count_noun(room.nodes - room.old, 'node')} inserted{more}"
    rng = np.random.default_rng(seed)
    found: list[GrowthOption] = []
    for made in filter(None, [room.insert_nodes(share, rng) for _ in range(_TRIES)]):
        with contextlib.suppress(DisconnectedError):
            quick = Candidate(name, "inserted", made[0], price_both(made[0]))
            entry = measure(quick, asked, "bounds" if asked.objective.exchanges else None)
            found += [] if entry is None else [GrowthOption(entry, made[1], 0)]
    few = sorted(found, key=lambda one: one.entry.times)[:_PRICED]
    exact = (measure(Candidate(name, "inserted", one.topology), asked) for one in few)
    priced = [replace(one, entry=entry) for one, entry in zip(few, exact, strict=True) if entry is not None]
    if not priced:
        return None
    best = min(priced, key=lambda one: one.entry.times)
    sides = 2 if room.duplex else 1
    links = int(best.topology.capacity.sum()) // sides
    return replace(best, at_least=max(links, len(room.patches)) - most_kept(room.existing, best.topology) // sides)
