"""Fabrics with boxes contracted to nodes.

If nodes hang on several switches of a box, each part is a node.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from topodesign.fabrics.fabric import Fabric, FabricLink


class ContractedFabric(NamedTuple):
    """A fabric whose nodes are boxes or their parts, without their inside."""

    fabric: Fabric
    members: dict[int, list[int]]  # nodes of each
    whose: list[int]  # of every vertex the box or part that it is in, -1 for none
    called: list[str]  # of every vertex the name of what it is taken for
    parted: bool  # whether these are parts: nodes that hang on one switch each, and on nothing else in their box


def boxes_of(fabric: Fabric) -> list[list[int]] | None:
    """Return the compute nodes of every box, or None if they differ in number.

    A box is a set of names that agree up to the last slash.
    """
    boxes: dict[str, list[int]] = {}
    for node in fabric.compute:
        boxes.setdefault(fabric.names[node].rpartition("/")[0], []).append(node)
    sizes = {len(box) for box in boxes.values()}
    return list(boxes.values()) if len(boxes) > 1 and len(sizes) == 1 and sizes != {1} else None


def contract_fabric(fabric: Fabric) -> ContractedFabric | None:
    """Return a fabric with a node per box, or per switch of a box.

    The second if the same number of nodes hangs on each switch alone.

    None where names tell of no boxes.
    """
    boxes = boxes_of(fabric)
    if boxes is None:
        return None
    box = {fabric.names[some[0]].rpartition("/")[0]: at for at, some in enumerate(boxes)}
    whose = [box.get(name.rpartition("/")[0], -1) for name in fabric.names]
    near = defaultdict[int, set[int]](set)
    for u, v, _ in fabric.topology.links():
        if whose[u] == whose[v] >= 0:
            near[u].add(v)
    heads = {node: min(near[node], default=-1) for node in fabric.compute}
    parts = {head: [node for node in fabric.compute if heads[node] == head] for head in heads.values()}
    parted = all(len(near[node]) == 1 and heads[node] in fabric.topology.switches for node in fabric.compute)
    parted = parted and len(set(map(len, parts.values()))) == 1
    if parted and len(parts) > len(boxes):
        boxes = list(parts.values())
        whose = [-1] * len(whose)
        for at, (head, some) in enumerate(parts.items()):
            for vertex in (head, *some):
                whose[vertex] = at
    names = [fabric.names[some[0]] for some in boxes]
    called = [names[at] if at >= 0 else fabric.names[vertex] for vertex, at in enumerate(whose)]
    links = [
        FabricLink(called[u], called[v], capacity * fabric.unit)
        for u, v, capacity in fabric.topology.links()
        if called[u] != called[v]
    ]
    others = [name for vertex, name in enumerate(called) if whose[vertex] < 0]
    small = Fabric.from_links(fabric.name, names, others, links)
    members = {small.number(name): some for name, some in zip(names, boxes, strict=True)}
    return ContractedFabric(small, members, whose, called, parted)
