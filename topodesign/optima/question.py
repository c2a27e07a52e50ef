"""Questions about a fabric, as values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, TypedDict

import numpy as np

from topodesign.base.arguments import as_integer
from topodesign.base.errors import ParameterError
from topodesign.base.units import Quantity
from topodesign.base.wording import with_article
from topodesign.collectives import Collective, as_collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.node_values import Costs, Shards, as_costs, as_shards
from topodesign.fabrics.part import Others, compute_node, select_part
from topodesign.fabrics.places import PlaceLike, as_fabric
from topodesign.optima.forest.schedule import spanning
from topodesign.topology.topology import IntArray, Topology


class QuestionOptions(TypedDict, total=False):
    """The options of public functions on a place and collective."""

    root: str | int | None
    shards: Shards | None
    only: str | Iterable[str]
    others: Others
    without: str | Iterable[str]
    bandwidth: Quantity | None


class Pass(NamedTuple):
    """One pass of trees, on links as they are or reversed."""

    topology: Topology
    weights: tuple[int, ...]  # sizes of the shards that move, by node
    order: IntArray  # the links of the fabric in the order of those of the topology
    reduces: bool


@dataclass(frozen=True)
class Question:
    """A collective on a fabric whose throughput is asked for."""

    fabric: Fabric
    collective: Collective  # with its root, if it has one
    shards: tuple[int, ...] | None = None  # relative sizes by node; all alike if None
    costs: dict[str, Fraction] = field(default_factory=dict)  # of a unit of data on links of each class, if they matter
    before: Question | None = None  # the same of the whole fabric, where only a part is left and the whole has it

    @property
    def root(self) -> str | None:
        """The name of the root."""
        return None if self.collective.root is None else self.fabric.names[self.collective.root]

    @cached_property
    def passes(self) -> tuple[Pass, ...]:
        """The passes of trees in their order: two of an allreduce."""
        topology, root = self.fabric.topology, self.collective.root
        if root is None:
            weights = self.shards or (1,) * len(self.fabric.compute)
        else:
            weights = tuple(int(node == root) for node in self.fabric.compute)
        forth = Pass(topology, weights, np.arange(len(topology.src)), reduces=False)
        if not self.collective.reduces:
            return (forth,)
        back = Pass(topology.transpose(), weights, np.lexsort((topology.src, topology.dst)), reduces=True)
        return tuple(back if one.adds else forth for one in self.collective.movements)

    @property
    def composed(self) -> bool:
        """Whether its trees have two passes, one after the other."""
        return len(self.collective.movements) > 1

    def for_trees(self) -> Question:
        """Return the question, which trees can answer."""
        spanning(self.collective)
        self.fabric.check_unshared("a packing of trees")
        return self


def make_question(
    place: PlaceLike,
    collective: Collective | str = "allgather",
    *,
    root: str | int | None = None,
    shards: Shards | None = None,
    only: str | Iterable[str] = (),
    others: Others = "vanish",
    without: str | Iterable[str] = (),
    bandwidth: Quantity | None = None,
    costs: Costs = (),
) -> Question:
    """Return what words ask; they are those of :func:`topodesign.schedulers.schedule`."""
    whole, kind = as_fabric(place, bandwidth), as_collective(collective)
    if root is None or isinstance(root, str):
        name = root
    else:
        name = whole.names[as_integer("root", root, 0, len(whole.names) - 1)]
    kind.check_root(name)
    fabric = select_part(whole, only, others, without)
    if name is not None and shards is not None:
        raise ParameterError(f"the only shard of {with_article(kind)} is its root's; omit shard sizes")

    def of(there: Fabric) -> Question:
        at = kind if name is None else kind.at(compute_node(there, name))
        return Question(there, at, None if shards is None else as_shards(there, shards))

    question = replace(of(fabric), costs=as_costs(fabric, costs))
    if fabric is whole:
        return question
    try:
        return replace(question, before=of(whole))
    except ParameterError:  # the shards fit only what is left
        return question
