"""The optimum of a fabric: how fast collectives can be, what keeps them from being faster, and what would help."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar, Unpack

from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.units import Quantity, as_size, read_number
from topodesign.collectives import Collective
from topodesign.fabrics.node_values import Costs, as_latency
from topodesign.fabrics.places import PlaceLike
from topodesign.optima.flow_optimum import FLOWS, FlowOptimum, flow_optimum
from topodesign.optima.fluid.fluid_optimum import FluidOptimum, fluid_optimum
from topodesign.optima.question import Asked, Question, asked
from topodesign.optima.throughput import best_throughput
from topodesign.optima.tree_optimum import FabricOptimum

_Best = TypeVar("_Best")
METHODS = ("auto", "forest", "fluid")  # who can be asked for an optimum
MOST_SCANNED = 1000  # largest number of trees per root that a scan goes to


class TreeOptions(Asked, total=False):
    """What trees take beside: numbers of them to look at, and for which sizes and latency to time these."""

    fixed_k: int | None
    scan: int
    compare: bool
    sizes: Quantity | Sequence[Quantity]
    alpha: Quantity


_FLAGS = {"shards": "--shards", "fixed_k": "--fixed-k", "scan": "--scan", "compare": "--frontier", "sizes": "--size"}
"""Options that are for trees alone."""


def optimum(
    place: PlaceLike,
    collective: Collective | str = "allgather",
    *,
    method: str = "auto",
    proof: bool = True,
    costs: Costs = (),
    gap: Quantity | Fraction = 0,
    mirrored: bool = True,
    progress: Callable[[float], None] | None = None,
    **options: Unpack[TreeOptions],
) -> FabricOptimum | FlowOptimum | FluidOptimum:
    """Find the best throughput of collectives on a fabric, and the links that keep it from being higher.

    Parameters
    ----------
    place
        A fabric or a topology, the spec of one, a file, or a networkx graph.
    collective
        Whose bottleneck and number of trees to tell.
    method
        ``forest``: trees of nodes, with switches that only forward; ``fluid``: a program in which memory and switches
        copy and add as the fabric says, and links share limits; ``auto``: ``forest``, but where links share limits.
    proof
        Whether to ask if any allreduce beats reduce-scatter and then allgather; above 128 nodes by cuts alone.
    costs
        What a unit of data costs on links of a class, such as ``{"NVLink": 1}``: tells the least cost of an all-to-all,
        scatter or gather at the best throughput, and with the method ``fluid`` that of any collective.
    gap
        For ``fluid``: part of the time, and of the cost, by which the answer may miss what is proven.
    mirrored
        For ``fluid``: whether what automorphisms exchange is solved once (else the time of both can be compared).
    progress
        For ``fluid``: called with the share of the best time that is proven.
    root
        Name or number of the node of a collective that has one.
    shards, only, others, without
        Relative shard sizes, who takes part and what has failed, as for :func:`topodesign.schedulers.schedule`.
    bandwidth
        Bandwidth of a node over all its links, for a place that says none: text, or bits per second.
    fixed_k, scan, compare
        Numbers of trees per root to look at: this one, 1 to this one, and those that pay.
    sizes, alpha
        Data sizes for which to tell the time of each number of trees, and the latency of a step, or ``fabric`` for
        what the fabric says of its links.

    Returns
    -------
    FabricOptimum, or FlowOptimum for an all-to-all, scatter or gather, or FluidOptimum for the method fluid
        What costs more than the throughput is computed when it is asked for; ``print`` asks for all.

    Raises
    ------
    SpecError, FileFormatError, UnitError, TopologyError
        If the place or a quantity cannot be read, or makes no fabric.
    ParameterError
        If the root or the shards do not fit, or a number is out of range.
    InfeasibleError
        If some node cannot be reached; the message names it.
    TooLargeError
        If a fabric is too large and irregular for an exact all-to-all.

    Examples
    --------
    >>> best = optimum("dgx_a100(2)")
    >>> best
    <FabricOptimum: allgather on dgx_a100(2): 346.667GB/s>
    >>> best.trees
    13
    >>> optimum("dgx_a100(2)", "all-to-all")
    <FlowOptimum: all-to-all on dgx_a100(2): 50GB/s>
    >>> optimum("dgx_h100(1)", "allreduce", method="fluid")
    <FluidOptimum: allreduce on dgx_h100(1): 450GB/s>
    """
    as_choice("method", method, METHODS)
    words: dict[str, Any] = dict(options)
    trees = {name: words.pop(name) for name in ("fixed_k", "scan", "compare", "sizes", "alpha") if name in words}
    question = asked(place, collective, costs=costs, **words)
    for_trees = next((flag for name, flag in _FLAGS.items() if options.get(name)), None)
    part = _gap(gap)
    if method == "fluid" or (method == "auto" and question.fabric.shared):
        if for_trees is not None:
            raise ParameterError(f"{for_trees} is for --method forest, not for fluid; leave it out")
        listener = None if progress is None else (lambda now: progress(float(1 - now.gap)))

        def solved(one: Question) -> FluidOptimum:
            return fluid_optimum(one, gap=part, mirrored=mirrored, listener=listener if one is question else None)

        fluid, before = _and_before(question, solved)
        return replace(fluid, before=None if before is None else before.bandwidth)
    if part:
        raise ParameterError("--gap is for --method fluid; leave it out")
    kind = question.collective
    if not kind.like(*FLOWS):
        if costs:
            raise ParameterError(
                f"costs are for {', '.join(map(str, FLOWS))}, not for {kind}; leave --cost out, or take --method fluid"
            )
        return _over_trees(question, asks_for_proof=proof, **trees)
    if for_trees is not None:
        raise ParameterError(f"{for_trees} is for collectives over trees, not for {kind}; leave it out")
    flow, earlier = _and_before(question, lambda one: flow_optimum(one.fabric, one.collective, costs=one.costs))
    return replace(flow, before=None if earlier is None else earlier.bandwidth)


def _and_before(question: Question, best: Callable[[Question], _Best]) -> tuple[_Best, _Best | None]:
    """Return the best, and that of the whole, where only a part of it is left and the whole has one."""
    found = best(question)
    if question.before is not None:
        with contextlib.suppress(InfeasibleError, ParameterError):
            return found, best(question.before)
    return found, None


def _over_trees(
    question: Question,
    *,
    asks_for_proof: bool,
    fixed_k: int | None = None,
    scan: int = 0,
    compare: bool = False,
    sizes: Quantity | Sequence[Quantity] = (),
    alpha: Quantity = "10us",
) -> FabricOptimum:
    many = [sizes] if isinstance(sizes, str | int | float | Fraction) else sizes
    best, before = _and_before(question, lambda one: best_throughput(one.for_trees()))
    return FabricOptimum(
        question,
        best,
        before,
        fixed_k=None if fixed_k is None else as_integer("fixed_k", fixed_k, 1, 10**6),
        scan=as_integer("scan", scan, 0, MOST_SCANNED),
        compare=compare,
        sizes=tuple(map(as_size, many)),
        latency=as_latency(alpha),
        asks_for_proof=asks_for_proof,
    )


def _gap(value: Quantity | Fraction) -> Fraction:
    """Return a part of one, from text such as ``1%`` too."""
    text = str(value).strip()
    try:
        part = read_number(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"a gap is a part of one or so many percent, such as 1%, not {text[:50]!r}") from None
    if not 0 <= part < 1:
        raise ParameterError(f"a gap is from 0 to less than 1, not {text[:50]!r}")
    return part
