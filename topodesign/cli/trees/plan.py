"""Which trees a user asks for, and the schedule of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from topodesign.base.errors import ParameterError
from topodesign.cli.sources import fabric_of, names_fabric, part_of
from topodesign.cli.trees.shards import read_shards
from topodesign.collectives import Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.presets import FABRICS
from topodesign.forest.throughput import compute_node
from topodesign.plans.trees import Trees
from topodesign.schedulers import Method

AnyMethod = Method | Literal["forest"]


@dataclass(frozen=True)
class Wanted:
    """Which trees a user asks for, as the options of a command say it."""

    source: str
    collective: Collective
    root: str | None = None
    fixed_k: int | None = None
    shards: str | None = None
    only: tuple[str, ...] = ()
    others: Literal["vanish", "forward"] = "vanish"
    without: tuple[str, ...] = ()

    def given(self) -> list[str]:
        """Return the options in use that are for trees alone."""
        names = ("root", "fixed_k", "shards", "only", "without")
        return [f"--{name.replace('_', '-')}" for name in names if getattr(self, name) not in {None, ()}]


@dataclass(frozen=True)
class Planned:
    """A schedule and its fabric; of an allreduce also which of its kinds was chosen and why."""

    fabric: Fabric
    schedule: Trees
    kind: str | None

    def spec(self, wanted: Wanted) -> str | None:
        """Return what rebuilds the whole fabric, if it has a generator."""
        generated = wanted.source.partition("(")[0].strip() in FABRICS and not wanted.only and not wanted.without
        return self.fabric.name if generated else None


def goes_over_trees(wanted: Wanted, method: AnyMethod) -> bool:
    """Return whether a schedule is to be made of trees.

    Raises
    ------
    ParameterError
        If options exclude each other.
    """
    collective = wanted.collective
    trees = method == "forest" or (method == "auto" and (collective.rooted or names_fabric(wanted.source)))
    if not trees:
        if collective.rooted:
            raise ParameterError(f"{collective} goes over trees; use --method forest")
        for option in wanted.given()[:1]:
            raise ParameterError(f"{option} is for trees; use --method forest")
    elif (wanted.root is None) == collective.rooted:
        verb, what = ("needs", "give one with --root") if wanted.root is None else ("has no", "leave --root out")
        raise ParameterError(f"{collective} {verb} root; {what}")
    return trees


def plan(wanted: Wanted) -> Planned:
    """Read or build a fabric and make the schedule."""
    from topodesign.forest.schedule import allreduce_schedule, forest_schedule  # noqa: PLC0415  heavy

    fabric = part_of(fabric_of(wanted.source), wanted.only, wanted.others, wanted.without)
    root = None if wanted.root is None else compute_node(fabric, wanted.root)
    shard = None if wanted.shards is None else read_shards(fabric, wanted.shards)
    if root is not None and shard is not None:
        raise ParameterError(f"the only shard of a {wanted.collective} is its root's; leave --shards out")
    fixed = " and ".join(option for option in wanted.given() if option in {"--fixed-k", "--shards"})
    if len(wanted.collective.parts) > 1 and not fixed:
        return Planned(fabric, *allreduce_schedule(fabric.topology, names=fabric.names))
    kind = None
    if len(wanted.collective.parts) > 1:
        kind = f"a reduce-scatter and then an allgather; with {fixed} no allreduce of another kind is looked for"
    schedule = forest_schedule(
        fabric.topology, wanted.collective, k=wanted.fixed_k, root=root, shard=shard, names=fabric.names
    )
    return Planned(fabric, schedule, kind)
