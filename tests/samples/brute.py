"""A brute force of plans, from the definition: contributions unit by unit, links hop by hop, instant by instant."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from topodesign.collectives.collective import EVERYONE
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.flow import PIECES, SENDS, Flow

Way = list[int]


def judge(flows: Sequence[Flow], *, several: bool = False) -> bool:
    """Return whether a plan is right: one flow, streams by the clock, or stages of chunks."""
    whole = [unfold(flow) for flow in flows]
    if any(flow is None or (flow.model == "chunks" and not len(flow.block)) for flow in whole):
        return False
    each = [flow for flow in whole if flow is not None]
    if not all(judge_links(flow) and judge_data(flow) for flow in each):
        return False
    if each[0].model == "chunks":
        return all(map(judge_chunks, each)) and (not several or judge_stages(each))
    return each[0].model == "steps" or judge_clock(each)


def unfold(flow: Flow) -> Flow | None:  # noqa: C901, PLR0912  a definition in one place
    """Return all images of a folded flow under its group; None if they are none of a symmetry."""
    if flow.fold is None:
        return flow
    nodes, links = flow.nodes, {(u, v): many for u, v, many in flow.topology.links()}
    generators = [tuple(map(int, names)) for names in flow.fold.generators]
    for names in generators:
        kept = all(links.get((names[u], names[v])) == many for (u, v), many in links.items())
        if (
            sorted(names) != list(range(nodes))
            or not kept
            or {names[s] for s in flow.topology.switches} != {*flow.topology.switches}
        ):
            return None
    owner, images = flow.collective.owners(flow.block, nodes), list[tuple[Any, Any]]()
    met = set[int]()
    for first in flow.fold.representatives:
        reached = {first: tuple(range(nodes))}
        queue = [first]
        for node in queue:
            for names in generators:
                if names[node] not in reached:
                    reached[names[node]] = tuple(names[at] for at in reached[node])
                    queue.append(names[node])
        images += [(np.flatnonzero(owner == first), np.array(names)) for names in reached.values()]
        met |= reached.keys()
    if len(met) < nodes:
        return None
    pieces: dict[str, list[Any]] = defaultdict(list)
    hops, send, weight, many, sends = list[Way](), list[int](), list[int](), 0, 0
    ways = list(list_ways(flow))
    for own, names in images:
        place = {piece: many + at for at, piece in enumerate(own.tolist())}
        block = flow.block[own]
        old, new = (np.divmod(block, nodes), nodes) if flow.collective.pairwise else ((0 * block, block), 0)
        columns = {"block": names[old[0]] * new + names[old[1]], "lo": flow.lo[own], "hi": flow.hi[own]}
        rows = [row for row in range(len(flow)) if int(flow.piece[row]) in place]
        columns |= {name: getattr(flow, name)[rows] for name in ("start", "end", "part")}
        columns |= {"src": names[flow.src[rows]], "dst": names[flow.dst[rows]]}
        columns["piece"] = np.array([place[int(flow.piece[row])] for row in rows], dtype=np.int64)
        columns |= {} if flow.weight is None else {"weight": flow.weight[own]}
        for row, of in enumerate(rows):
            for own_weight, way in ways[of]:
                hops.append([int(names[hop]) for hop in way])
                send.append(sends + row)
                weight.append(own_weight)
        for name, column in columns.items():
            pieces[name].append(column)
        many, sends = many + len(own), sends + len(rows)
    found: dict[str, Any] = {name: np.concatenate(parts).astype(np.int64) for name, parts in pieces.items()}
    if flow.routes is not None:
        start = np.cumsum([0, *map(len, hops)])
        hop = np.array([hop for way in hops for hop in way], dtype=np.int64)
        found["routes"] = flow.routes._replace(send=np.array(send), weight=np.array(weight), hop_start=start, hop=hop)
    return replace(flow, fold=None, **found)


def list_ways(flow: Flow) -> Iterator[list[tuple[int, Way]]]:
    """Yield the weights and ways of every send."""
    routes = flow.routes
    if routes is None:
        weight = [1] * len(flow) if flow.weight is None else flow.weight[flow.piece].tolist()
        for many, src, dst in zip(weight, flow.src.tolist(), flow.dst.tolist(), strict=True):
            yield [(many, [src, dst])]
        return
    found: dict[int, list[tuple[int, Way]]] = defaultdict(list)
    for at, send in enumerate(routes.send.tolist()):
        way = routes.hop[routes.hop_start[at] : routes.hop_start[at + 1]].tolist()
        found[send].append((int(routes.weight[at]), way))
    yield from (found[send] for send in range(len(flow)))


def judge_links(flow: Flow) -> bool:
    """Return whether every way leads from end to end over links, past whom it may pass."""
    switches, circuits, wanted = flow.topology.switches, flow.circuits, 1
    links = [{(u, v) for u, v, _ in flow.topology.links() if u != v}]
    if circuits is not None:
        columns = (circuits.phase, circuits.src, circuits.src_port, circuits.dst, circuits.dst_port)
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        for ends in ({row[:3] for row in rows}, {(row[0], *row[3:]) for row in rows}):
            if len(ends) < len(rows):
                return False  # two circuits of a port
        if any(a == b for _, a, _, b, _ in rows) or (
            circuits.duplex and any((k, b, q, a, p) not in rows for k, a, p, b, q in rows)
        ):
            return False
        links = [{(a, b) for phase, a, _, b, _ in rows if phase == k} for k in range(len(circuits.begin))]
    for row, ways in enumerate(list_ways(flow)):
        src, dst, piece = int(flow.src[row]), int(flow.dst[row]), int(flow.piece[row])
        phase = 0 if circuits is None else int((circuits.begin <= int(flow.start[row])).sum()) - 1
        wanted = 1 if flow.weight is None else int(flow.weight[piece])
        if sum(weight for weight, _ in ways) != wanted or (flow.model != "chunks" and {src, dst} & switches):
            return False
        group = group_of(flow, piece)
        for _, way in ways:
            inner = [v for v in way[1:-1] if v not in switches]
            if flow.model != "steps" and (flow.collective.groups or flow.collective.group):
                inner = [v for v in inner if flow.team[v] == group]
            if (way[0], way[-1]) != (src, dst) or len(set(way)) < len(way) or not set(pairwise(way)) <= links[phase]:
                return False
            if inner and flow.model != "steps":
                return False
    return True


def group_of(flow: Flow, piece: int) -> int:
    """Return the group whose data a piece is: that of its owner, or of the nodes on its way."""
    own = int(flow.team[flow.collective.owners(flow.block[[piece]], flow.nodes)[0]])
    rows = flow.piece == piece
    ends = np.concatenate((flow.team[flow.src[rows]], flow.team[flow.dst[rows]]))
    return own if own >= 0 else int(ends.max(initial=-1))


def judge_data(flow: Flow) -> bool:  # noqa: C901, PLR0912  a definition in one place
    """Return whether all data arrive; in pipelines, whether nothing does so in vain."""
    nodes, team = flow.nodes, flow.team
    owner = flow.collective.owners(flow.blocks, nodes)
    size = dict(zip(flow.blocks.tolist(), flow.units_of(flow.blocks).tolist(), strict=True))
    if any(int(hi) > size.get(b, 0) for b, hi in zip(flow.block.tolist(), flow.hi.tolist(), strict=True)):
        return False
    group = {b: {v for v in range(nodes) if team[v] == team[o]} for b, o in zip(size, owner.tolist(), strict=True)}
    for b, o in zip(size, owner.tolist(), strict=True):
        if team[o] < 0:
            mine = next(iter(np.flatnonzero(flow.block == b).tolist()), 0)
            group[b] = {v for v in range(nodes) if team[v] == max(0, group_of(flow, mine))}
    complete: dict[tuple[int, int], int] = {}
    for number, movement in enumerate(flow.movements):
        places = [column.tolist() for column in flow.collective.places(movement, flow.blocks, nodes)]
        source, goal = (dict(zip(size, place, strict=True)) for place in places)
        has: Counter[tuple[int, int, int]] = Counter()
        gone: set[tuple[int, int, int]] = set()
        for b, units in size.items():
            for v in group[b] if movement.adds else {source[b]}:
                has.update((v, b, u) for u in range(units))
        flying: dict[int, dict[tuple[int, int], int]] = {}
        rows = np.flatnonzero(flow.part == number).tolist()
        for at, takes, row in sorted(
            [(int(flow.end[r]), 0, r) for r in rows] + [(int(flow.start[r]), 1, r) for r in rows]
        ):
            piece, u, v = int(flow.piece[row]), int(flow.src[row]), int(flow.dst[row])
            cells = [(int(flow.block[piece]), unit) for unit in range(int(flow.lo[piece]), int(flow.hi[piece]))]
            for cell in cells:
                if takes and (not has[u, *cell] or (u == source[cell[0]] and at < complete.get(cell, 0))):
                    return False
                if takes:
                    flying.setdefault(row, {})[cell] = has[u, *cell]
                    has[u, *cell] -= has[u, *cell] if movement.adds else 0
                    gone |= {(u, *cell)} if movement.adds else set()
                    continue
                if flow.model == "chunks" and ((v, *cell) in gone if movement.adds else has[v, *cell]):
                    return False
                if movement.adds:
                    has[v, *cell] += flying[row][cell]
                    complete[cell] = at if v == goal[cell[0]] else complete.get(cell, 0)
                else:
                    has[v, *cell] = 1
        for b, units in size.items():
            wanted = {goal[b]} if goal[b] != EVERYONE else group[b]
            many = len(group[b]) if movement.adds else 1
            if any(has[v, b, u] != many for v in wanted for u in range(units)):
                return False
    return True


def judge_chunks(flow: Flow) -> bool:
    """Return whether links and limits carry all pieces at the rate, each a tree, all equally fast."""
    assert flow.weight is not None
    room = {(u, v): capacity for u, v, capacity in flow.topology.links()}
    load: dict[int, Counter[tuple[int, int]]] = defaultdict(Counter)
    sent: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for row, ways in enumerate(list_ways(flow)):
        sent[int(flow.piece[row]), int(flow.part[row])].append((int(flow.src[row]), int(flow.dst[row])))
        for weight, way in ways:
            load[0 if flow.concurrent else int(flow.part[row])].update(dict.fromkeys(pairwise(way), weight))
    if {piece for piece, _ in sent} != set(range(len(flow.block))):
        return False
    times = defaultdict[int, set[Fraction]](set)
    for (piece, part), ends in sent.items():
        movement, (block,) = flow.movements[part], flow.block[[piece]].tolist()
        share = 1 if flow.sizes is not None else int(flow.share_of(flow.block[[piece]])[0])
        times[part].add(Fraction(int(flow.hi[piece] - flow.lo[piece]) * share, int(flow.weight[piece])))
        source, goal = (int(at[0]) for at in flow.collective.places(movement, np.array([block]), flow.nodes))
        far, near = ([end[movement.adds == bool(at)] for end in ends] for at in (0, 1))
        # ``far`` is the end of each send away from the root: reached, or left, once
        if len(set(far)) < len(far) or (goal if movement.adds else source) in far:
            return False
        passing, group = {end[0] for end in ends}, group_of(flow, piece)
        able = getattr(flow.place, "aggregation" if movement.adds else "multicast", ())
        if any(many > 1 and flow.team[v] != group and v not in able for v, many in Counter(near).items()):
            return False
        wanted = set(np.flatnonzero(flow.team == group).tolist()) if goal == EVERYONE else {goal}
        if not movement.adds and not {end[1] for end in ends} <= wanted | passing:
            return False
    if any(len(one) > 1 for one in times.values()):
        return False
    limits = [({link}, Fraction(capacity)) for link, capacity in room.items()]
    if isinstance(flow.place, Fabric):
        every = [link[:2] for link in flow.topology.links()]
        shared = zip(flow.place.shared, flow.place.shared_links, strict=True)
        limits += [({every[at] for at in links}, one.bandwidth / flow.place.unit) for one, links in shared]
    full = [sum(carried[link] for link in links) for carried in load.values() for links, _ in limits]
    return all(many * (flow.rate or 0) <= most for many, (_, most) in zip(full, limits * len(load), strict=True))


def judge_stages(flows: Sequence[Flow]) -> bool:
    """Return whether after all stages every node has the sum of all: units and contributions, stage by stage."""
    members, fine = flows[0].members.tolist(), 1
    for flow in flows:
        fine *= flow.units * max(len(one.group or members) for one in flow.collective.single)
    data = {v: {unit: Counter({v: 1}) for unit in range(fine)} for v in members}
    for flow in flows:
        now = {v: dict(held) for v, held in data.items()}
        for one in flow.collective.single:
            group = list(one.group or members)
            held = [sorted(data[v]) for v in group]
            if flow.collective.reduces:  # all have the same units, and node number k gets part k of them
                if any(units != held[0] for units in held) or len(held[0]) % len(group):
                    return False
                width = len(held[0]) // len(group)
                for at, v in enumerate(group):
                    kept = held[0] if flow.one_shot else held[0][at * width : (at + 1) * width]
                    now[v] = {u: sum((data[w][u] for w in group), Counter()) for u in kept}
            else:
                units = [u for own in held for u in own]
                sums = [[data[v][u] for u in own] for v, own in zip(group, held, strict=True)]
                if units != sorted(set(units)) or len({len(own) for own in held}) > 1:
                    return False
                if any(one_sum != sums[0][0] for own in sums for one_sum in own) or units[-1] - units[0] >= len(units):
                    return False
                whole = {u: data[v][u] for v, own in zip(group, held, strict=True) for u in own}
                now |= {v: dict(whole) for v in group}
        data = now
        if len({len(held) for held in data.values()}) > 1:
            return False
    return all(len(held) == fine and all(one == Counter(members) for one in held.values()) for held in data.values())


def judge_clock(flows: Sequence[Flow]) -> bool:  # noqa: C901, PLR0911, PLR0912  a definition in one place
    """Return whether no link is faster than it is or has two messages at a time, and switches pass on what is there."""
    taken: dict[tuple[int, int], list[tuple[int, int, int, int]]] = defaultdict(list)
    for number, flow in enumerate(flows):
        clock, uses = flow.timing, dict[Any, int]()
        capacity = {(u, v): many for u, v, many in flow.topology.links()}
        place = {(u, v): at for at, (u, v, _) in enumerate(flow.topology.links())}
        rate = flow.place.unit if isinstance(flow.place, Fabric) else clock.bandwidth
        for link, at in place.items():
            least = 0 if rate is None else clock.size / flow.whole_units / (rate * capacity[link])
            if int(clock.per_unit[at]) * clock.tick < least:
                return False
        if np.any(flow.start < clock.begin):
            return False
        after: dict[Any, set[Any]] = defaultdict(set)
        times = None if flow.routes is None else list(zip(flow.routes.start, flow.routes.end, strict=True))  # type: ignore[arg-type]
        done = 0
        for row, ways in enumerate(list_ways(flow)):
            piece, before = int(flow.piece[row]), None
            for _, way in ways:
                links, spans = list(pairwise(way)), [(int(flow.start[row]), int(flow.end[row]))]
                if times is not None:
                    spans = [(int(a), int(b)) for a, b in times[done : done + len(links)]]
                    done += len(links)
                if (spans[0][0], spans[-1][1]) != (int(flow.start[row]), int(flow.end[row])):
                    return False
                for (one, span), (two, later) in pairwise(zip(links, spans, strict=True)):
                    if later[0] < span[0] + clock.latency[place[one]] or later[1] < span[1] + clock.latency[place[two]]:
                        return False
                for at, (link, span) in enumerate(zip(links, spans, strict=True)):
                    use = link, span, piece, row if at == len(links) - 1 else -1
                    uses[use] = int(flow.hi[piece] - flow.lo[piece])
                    after[before] |= {use} if before is not None and at else set()
                    before = use
        able = getattr(flow.place, "multicast", ())
        if any(len(those) > 1 and use[0][1] not in able for use, those in after.items()):
            return False
        messages: Counter[Any] = Counter()
        for (link, span, *_), units in uses.items():
            messages[link, span] += units
        for (link, (start, end)), units in messages.items():
            own = place[link]
            if end - start < int(clock.latency[own]) + int(clock.per_unit[own]) * units:
                return False
            free = end - (int(clock.latency[own]) if clock.overlap else 0)
            taken[link].append((start, free, end, number))
    return not any(a[0] < b[1] and b[0] < a[1] for those in taken.values() for a, b in combinations(those, 2))


def mutate(flow: Flow, random: np.random.Generator) -> tuple[str, Flow]:
    """Return what is changed, and a flow with one number of a column changed, or a send less or twice."""
    routes, circuits, clock, fold = flow.routes, flow.circuits, flow.clock, flow.fold
    names = [*PIECES, *SENDS, *SENDS, *(["less", "twice"] if routes is None else [])]
    names += ["weight", "rate", "sizes"] if flow.weight is not None else []
    names += [f"routes {one}" for one in ("send", "weight", "hop", "hop", "start", "end")] if routes is not None else []
    names += [f"circuits {one}" for one in circuits._fields[3:]] if circuits is not None else []
    names += [f"clock {one}" for one in clock._fields] if clock is not None else []
    names += ["fold", "representatives", "fold"] if fold is not None else []
    names += ["units", "steps"]
    name = str(random.choice(names))

    def turn(column: Any) -> Any:
        """Return a column with one entry changed: to another one, or by one."""
        new = np.array(column).copy()
        row, other = random.integers(len(new), size=2)
        new[row] = new[other] if random.integers(2) else new[row] + random.choice([-1, 1])
        return new

    def change(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return turn(value) if len(value) else value
        if isinstance(value, bool):
            return not value
        if isinstance(value, Fraction):
            return value * Fraction(int(random.integers(1, 6)), 3)
        return value if value is None else value + int(random.choice([-1, 1]))

    if name in {"less", "twice"}:
        rows, row = np.arange(len(flow)), int(random.integers(len(flow)))
        kept = np.delete(rows, row) if name == "less" else np.append(rows, row)
        sends: dict[str, Any] = {one: getattr(flow, one)[kept] for one in SENDS}
        return name, replace(flow, **sends)
    if name == "fold":
        assert fold is not None
        table = np.array(fold.generators).copy()
        row, one, two = (int(random.integers(most)) for most in (len(table), flow.nodes, flow.nodes))
        table[row, [one, two]] = table[row, [two, one]]
        return name, replace(flow, fold=type(fold)(flow.nodes, fold.representatives, lambda: tuple(table)))
    if name == "representatives":
        assert fold is not None
        chosen = list(fold.representatives)
        if random.integers(2):
            chosen[int(random.integers(len(chosen)))] = int(random.integers(flow.nodes))
        else:
            chosen.pop(int(random.integers(len(chosen))))
        return name, replace(flow, fold=type(fold)(flow.nodes, tuple(chosen), lambda: tuple(fold.generators)))
    whole, _, own = name.partition(" ")
    part = getattr(flow, whole)
    changed = part._replace(**{own: change(getattr(part, own))}) if own else change(part)
    return name, replace(flow, **{whole: changed})
