"""Concurrent flows within a certified gap, for thousands of nodes.

The fullest link is what counts; in its place stands ``sum of room * (load/room)**p``, which a source can make less by
shifting a part of its flow to the shortest paths at prices that are the gradient. Sources take turns, and p is doubled
whenever what is left of the gap is due to it. The idea is that of the multiplicative-weights schemes for concurrent
flow (Garg and Koenemann 2007, Fleischer 2000; with steps as in Bienstock, Potential function methods, 2002). Sources
are aggregated, so that one shortest-path tree serves all destinations of one.

Every few turns the flows are made whole, and bounds on both sides computed in whole numbers: these, not the iteration,
say how near they are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import TooLargeError
from topodesign.base.progress import Progress
from topodesign.solve.flows import kernels
from topodesign.solve.flows.concurrent import ConcurrentFlow, trees
from topodesign.topology.quotient import Quotient
from topodesign.topology.topology import IntArray

GAP = Fraction(1, 100)  # part by which the upper bound may be above the lower one, unless told otherwise

MAX = 2**26  # sources times arcs that are kept at once; half a gigabyte

_UNITS = 2**24  # parts of a shard
_TURNS = 4  # of all sources before bounds are computed
_WORK = 2**20  # sources times arcs that are looked at without a break
_FIRST, _LAST = 3, 14  # doublings of the exponent
_LOOKS = 10  # turns of all sources at each of the first exponents whose lengths are taken down


def find_balanced_flow(
    quotient: Quotient, *, gap: Fraction = GAP, seconds: float | None = None, progress: Progress | None = None
) -> ConcurrentFlow:
    """Return a flow within a proven gap of the optimum.

    * ``quotient``: sources and links.
    * ``gap``: how far above the lower bound the upper one may be, as a part of it; above zero.
    * ``seconds``: time after which the flow is returned as it is.
    * ``progress``: told the ratio of the bounds after every look.
    """
    many, arcs, kinds = len(quotient.sources), len(quotient.arcs), len(quotient.room)
    if many * arcs > MAX:
        raise TooLargeError(
            f"{many} sources with {arcs} links each are too many for a balanced flow (at most {MAX} in all)"
        )
    spare = 2 + int(max(np.bincount(quotient.src).max(), np.bincount(quotient.dst).max()))
    units = min(_UNITS, 2**56 // int((quotient.weight * quotient.wanted.sum(axis=1)).sum()))
    if units < _UNITS and units < spare * 2**10:
        raise TooLargeError("amounts are too large numbers for a balanced flow; count them in larger pieces")
    until = math.inf if seconds is None else time.monotonic() + seconds
    room = quotient.room.astype(np.float64)
    flow, load = np.zeros((many, arcs)), np.zeros(kinds)
    prices, doublings = np.ones(kinds, dtype=np.int64), _FIRST
    lower = sum(trees(quotient, prices[quotient.kind])[1]) / float(room.sum())
    told = 0.0
    while True:
        for _ in range(_TURNS):
            for part in _parts(quotient):
                kernels.balance(*_graph(quotient, part), room, doublings, flow[part], load)
        fullest = load / room / np.max(load / room)
        tried = 1 + (kernels.LONGEST * fullest ** (2**doublings - 1)).astype(np.int64)
        whole, far = _whole(quotient, tried, flow, units, spare, keep=False)
        upper, bound = float(np.max(whole / room)) / units, far / float(tried @ room)
        if bound > lower:
            lower, prices = bound, tried
        told = max(told, lower / upper)
        if progress is not None:
            progress(told)
        if upper <= lower * (1 + 0.999 * float(gap)) or time.monotonic() > until:
            break
        if doublings < _LAST and _is_smooth(fullest, room, doublings, bound / np.max(load / room)):
            doublings += 1
    _whole(quotient, tried, flow, units, spare, keep=True)
    return ConcurrentFlow(quotient, flow.astype(np.int64), units, prices, "balanced flow")


def find_lengths(quotient: Quotient) -> Iterator[IntArray]:
    """Yield lengths of arc kinds from briefly balanced flows.

    Shortest trees in these lengths make good mixtures.

    * ``quotient``: sources and links.
    """
    room = quotient.room.astype(np.float64)
    flow, load = np.zeros((len(quotient.sources), len(quotient.arcs))), np.zeros(len(quotient.room))
    for doublings in range(_FIRST, _FIRST + 3):
        for _ in range(_LOOKS):
            kernels.balance(*quotient.graph, room, doublings, flow, load)
            fullest = load / room / np.max(load / room)
            yield 1 + (2**20 * fullest ** (2**doublings - 1)).astype(np.int64)


def _whole(
    quotient: Quotient, lengths: IntArray, flow: NDArray[np.float64], units: int, spare: int, *, keep: bool
) -> tuple[IntArray, float]:
    """Return rounded loads in units and the approximate sum of distances."""
    total, far = np.zeros(len(quotient.room), dtype=np.int64), 0.0
    for part in _parts(quotient):
        loads, graph = np.empty_like(total), _graph(quotient, part)
        far += kernels.whole_flow(*graph, lengths[quotient.kind], units, spare, flow[part], loads, keep)
        total += loads
    return total, far


def _parts(quotient: Quotient) -> Iterator[slice]:
    """Yield the sources in small slices, for prompt interrupts."""
    few = max(1, _WORK // len(quotient.arcs))
    for first in range(0, len(quotient.sources), few):
        yield slice(first, first + few)


def _graph(
    quotient: Quotient, part: slice
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray, IntArray, IntArray]:
    sources, weight, indptr, src, dst, kind, wanted = quotient.graph
    return sources[part], weight[part], indptr, src, dst, kind, wanted[part] if len(wanted) > 1 else wanted


def _is_smooth(fullest: NDArray[np.float64], room: NDArray[np.float64], doublings: int, bound: float) -> bool:
    """Return whether a larger exponent helps more than more turns.

    Loads whose sum of powers is least prove a bound of ``mean``, as parts of the fullest: so far from the fullest the
    exponent leaves them, and so far from that bound are they still.
    """
    steep = fullest ** (2**doublings - 1)
    mean = float((room * steep * fullest).sum() / (room * steep).sum())
    return mean / bound - 1 < 1 - mean
