"""Runtime connections that have no link in the wiring.

Programs use the links that there are. Runtimes do more: those of MSCCL join ranks in a ring and in trees of their own
before any program runs, and MSCCL++ has one NIC for a rank, wherever its cables go. Behind switches neither matters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from topodesign.base.wording import count_noun
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.unroll import numbers_without
from topodesign.runtime.connections import LAZY, RELAY, Pair, pat_pairs, ring_pairs, tree_pairs
from topodesign.runtime.msccl.profiles import RuntimeProfile
from topodesign.topology.topology import Topology


def boxes_of(place: Topology | Fabric, box: int | None = None) -> list[object] | None:
    """Return the box of every vertex, switches included; None if unknown.

    By the number of ranks of a box, or by the names of a fabric's nodes, such as ``box0/gpu3``. A switch of no box has
    None for its own.
    """
    topology = place.topology if isinstance(place, Fabric) else place
    if box is not None:
        number, computes = numbers_without(topology.nodes, topology.switches)
        return [rank // box if own else None for rank, own in zip(number.tolist(), computes.tolist(), strict=True)]
    if not isinstance(place, Fabric) or not all("/" in place.names[node] for node in place.compute):
        return None
    named = [name.rsplit("/", 1)[0] if "/" in name else None for name in place.names]
    known = {named[node] for node in place.compute}
    return [name if name in known else None for name in named]


def boxes_of_ranks(place: Topology | Fabric, box: int | None) -> list[object]:
    """Return every rank's box, one for all if unknown."""
    owner = boxes_of(place, box)
    topology = place.topology if isinstance(place, Fabric) else place
    return [0 if owner is None else owner[node] for node in range(topology.nodes) if node not in topology.switches]


def find_unlinked(place: Topology | Fabric, profile: RuntimeProfile) -> Iterator[str]:
    """Yield NCCL connections between hosts that have no link.

    A rank is a host, unless names specify boxes.
    """
    owner = boxes_of(place) or boxes_of(place, 1) or []
    hosts = list(dict.fromkeys(box for box in owner if box is not None))
    linked = _make_link_test(place.topology if isinstance(place, Fabric) else place, owner, hosts)
    ring = ring_pairs(len(hosts))
    trees = [(one, other) for pair in tree_pairs(len(hosts)) for one, other in (pair, pair[::-1])]
    kinds = [("ring", ring), ("trees", trees)]
    alone = sum(box is not None for box in owner) == len(hosts)
    if profile.joins_late and alone:
        kinds.append(("PAT", pat_pairs(len(hosts))))
    lacking = {
        name: list(dict.fromkeys((min(pair), max(pair)) for pair in pairs if not linked(pair))) for name, pairs in kinds
    }
    if not any(lacking.values()):
        return
    said = []
    for name, pairs in lacking.items():
        first = ", ".join(f"{one}-{other}" for one, other in pairs[:3])
        if pairs:
            some = first if len(pairs) <= 3 else f"such as {first}"
            said.append(f"{count_noun(len(pairs), 'pair')} of the {name} ({some})")
    word = "ranks" if alone else "boxes"
    unless = ", unless cuMem is on at every rank," if profile.joins_late else ","
    joins = "a ring in the order of their numbers and two trees"
    yield (
        f"{profile.name} joins {word} in {joins} when a communicator starts{unless} with any program, but there is no "
        f"link for {' and '.join(said)}: if nothing else connects these hosts, the start fails"
    )
    remedy = f"{LAZY}; or {RELAY}" if profile.joins_late else RELAY
    number = f"number the {word} along a ring of links, if there is one; and " if lacking["ring"] else ""
    yield f"remedy: {number}{remedy}"


def single_nic(place: Topology | Fabric, box: int | None) -> Iterator[str]:
    """Yield a note if MSCCL++'s single NIC per rank is insufficient.

    Ranks with links to several other boxes need several NICs.
    """
    owner = boxes_of(place, box)
    if owner is None:
        return  # one box: no NIC at all
    topology = place.topology if isinstance(place, Fabric) else place
    ways: dict[int, set[object]] = defaultdict(set)
    for src, dst, _ in topology.links():
        if owner[src] is not None and src not in topology.switches and owner[dst] != owner[src]:
            ways[src].add(dst)
    busiest = max(ways, key=lambda node: len(ways[node]), default=None)
    if busiest is None or len(ways[busiest]) < 2:
        return
    rank = int(numbers_without(topology.nodes, topology.switches)[0][busiest])
    yield (
        f"MSCCL++ gives a rank one NIC for all other boxes, by its number in its box, and rank {rank} has links to "
        f"{count_noun(len(ways[busiest]), 'place')} outside its box: what does not hang on that NIC is not reached"
    )
    yield "remedy: join the boxes by a switch, or give each rank links to one place outside its box"


def _make_link_test(topology: Topology, owner: Sequence[object], hosts: Sequence[object]) -> Callable[[Pair], bool]:
    """Return a predicate: whether two hosts communicate without a third.

    A network of switches joins all that are on it.
    """
    at = {host: number for number, host in enumerate(hosts)}
    root = list(range(topology.nodes))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = node = root[root[node]]
        return node

    direct: set[Pair] = set()
    on: dict[int, set[int]] = defaultdict(set)  # by host, switches of no box
    for src, dst, _ in topology.links():
        ends = owner[src], owner[dst]
        if ends == (None, None):
            root[find(src)] = find(dst)
        elif None not in ends:
            direct.add((at[ends[0]], at[ends[1]]))
        else:
            host, switch = (ends[0], dst) if ends[1] is None else (ends[1], src)
            on[at[host]].add(switch)
    nets = {host: {find(switch) for switch in switches} for host, switches in on.items()}
    return lambda pair: (
        pair[0] == pair[1] or pair in direct or not nets.get(pair[0], set()).isdisjoint(nets.get(pair[1], set()))
    )
