"""Linear congruential digraphs of sizes beyond the catalog: covers, and digits that serve a smaller size.

Both have few steps at every size, primes among them; :mod:`topodesign.search.congruential` says why. Whether digits
load links evenly depends on where N lies between two powers of d, hardly on the powers: walks of k links lead to d^k
numbers in a pattern that a link more repeats d times as wide. So what a search found for N/d nodes serves N.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

from topodesign.base.cost import Cost, digits
from topodesign.base.errors import ParameterError
from topodesign.base.spec import Spec, parse
from topodesign.catalog.files import read_rows
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.quality import runtime
from topodesign.catalog.searched import GOOD, MOST_PRICED
from topodesign.catalog.sizes import MOST_NODES
from topodesign.graphs.expansions.turn import turn
from topodesign.pricing.closed_form import price_at_least
from topodesign.search.target import Target
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

_REACH = 32  # sizes whose digits are tried are so many nodes away, at most,
_MOST_TRIED = 64  # and so many digraphs are made of these digits,
_SOURCES = 32  # of which some nodes are looked at


def cyclic_covers(target: Target) -> Iterator[tuple[Spec, int]]:
    """Yield cyclic covers of generalized Kautz digraphs and the steps that they take.

    Walks of x links lead to one copy, those of x + 1 to the next, so that m copies take m - 1 steps more than one.
    """
    nodes, degree = target.size
    for copies in (2, 3):
        fewer, rest = divmod(nodes, copies)
        if not (target.duplex or rest) and 1 < degree < fewer:
            steps = digits(fewer, degree) + copies - 1
            if steps <= digits(nodes, degree) + 1:
                yield Spec("cover", (Spec("genkautz", (degree, fewer)), copies)), steps


def with_digits(target: Target, catalog: Catalog, fastest: Fraction | None) -> Topology | None:
    """Return the digraph with the digits of a row of about N/d^i nodes that seems to load links the most evenly.

    Its self-loops are turned. None if none is found that has k steps, d^k being the first power that reaches N, or that
    may be faster by some than ``fastest``, seconds of an allreduce.
    """
    nodes, degree = target.size
    if target.duplex or degree not in catalog.degrees or nodes * nodes * degree > MOST_PRICED:
        return None
    least = Fraction(nodes - 1, nodes)
    if fastest is not None and runtime(Cost(digits(nodes, degree), GOOD * least)) >= fastest:
        return None
    found = ((cost, number, one) for number, one in enumerate(_drafts(target, catalog)) if (cost := _seen(one, target)))
    best = min(found, key=lambda one: (one[0].bandwidth, one[1]), default=None)
    return None if best is None or (fastest is not None and runtime(best[0]) >= fastest) else best[2]


def _drafts(target: Target, catalog: Catalog) -> Iterator[Topology]:
    nodes, degree = target.size
    fewer = nodes
    while fewer > MOST_NODES:
        fewer = round(fewer / degree)
    rows = read_rows(catalog.directory, degree, fewer - _REACH, fewer + _REACH)
    near = sorted(rows, key=lambda row: abs(row.nodes - fewer))
    bases = dict.fromkeys(spec for row in near if (spec := _renamed(parse(row.spec), nodes)))
    for base, places in itertools.islice(itertools.product(bases, (1, 2)), _MOST_TRIED):
        try:
            made = turn(build(base), 0, places)
        except ParameterError:
            continue  # more links lead into some nodes than into others
        if not made.self_loops and int(made.capacity.max()) == 1:
            yield made


def _renamed(spec: Spec, nodes: int) -> Spec | None:
    """Return the digraph of another size with the digits of a row, None if it has none."""
    while spec.name in {"turn", "transpose"} and isinstance(spec.args[0], Spec):
        spec = spec.args[0]
    return Spec(spec.name, (nodes, *spec.args[1:])) if spec.name == "congruential" else None


def _seen(topology: Topology, target: Target) -> Cost | None:
    """Return what both collectives cost on average as far as some nodes tell, None if these need more steps than k."""
    there, back = (price_at_least(one, _SOURCES) for one in (topology, topology.transpose()))
    if max(there.steps, back.steps) > digits(*target.size):
        return None
    return Cost(there.steps, (there.bandwidth + back.bandwidth) / 2)
