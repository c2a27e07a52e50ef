"""A row of the catalog: a topology, its price, and their origin."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from topodesign.base.cost import Basis, Cost
from topodesign.base.errors import CatalogError
from topodesign.base.records import Result, shorten_text
from topodesign.base.spec import Spec
from topodesign.catalog.all_to_all import Bounds, PriceKey

if TYPE_CHECKING:
    from topodesign.topology.topology import Topology

VERSION = 7  # version of the catalog that rows written now belong to

Price = tuple[int, int, int, int, bool]
"""Nodes, steps, the mean of both bandwidth factors as numerator and denominator, and whether duplex."""

COLUMNS = ("nodes", "degree", "steps", "bandwidth", "allgather", "wiring", "found", "basis", "version", "spec", "check")
"""Columns of a row, separated by tabs; ``check`` is the CRC-32 of all before it."""

_BASES = {basis.value: basis for basis in (Basis.LINKS, Basis.THEOREM, Basis.BOUND, Basis.DEFERRED)}
_DUPLEX = {"duplex": True, "simplex": False}

_FOUND = {
    **dict.fromkeys(("circulant", "dicirculant"), "circulant"),
    "cayley": "cayley",
    **dict.fromkeys(("lift", "multicirculant"), "lift"),
    "cover": "lift",
    **dict.fromkeys(("delete", "insert"), "neighbour"),
    **dict.fromkeys(("swap", "successors", "turn"), "annealed"),
    **dict.fromkeys(("bidirect", "degree", "line", "parallel", "power", "product", "spare"), "expansion"),
}


@dataclass(frozen=True, slots=True, repr=False)
class Row(Result):
    """A topology on the frontier of its size, any or duplex cabling.

    * ``basis``: what the price rests on: links, a theorem or a bound; or a deferred schedule, where that is cheaper
      than SPFF in at least one of the two collectives.
    * ``all_to_all``: what all-to-all costs, where the catalog knows it; no part of the row's line.
    * ``name``: a short spec such as ``catalog(200,6,1)``, on a frontier of the default catalog; no part of the row's
      line.
    """

    nodes: int  # N
    degree: int  # ports of a node
    cost: Cost  # steps and bandwidth factor of the reduce-scatter, the dearer of the two collectives
    allgather: Cost  # price of the allgather, at most ``cost``
    duplex: bool  # whether duplex cabling can wire it
    found: str  # where such a topology comes from, which :func:`describe_origin` reads off its spec
    basis: Basis
    version: int  # version of the catalog that the row came in with
    spec: str  # the text that rebuilds the topology
    all_to_all: Bounds | None = field(default=None, compare=False)
    name: str | None = field(default=None, compare=False)

    KEYS = "nodes degree steps=cost.steps bandwidth=cost.bandwidth duplex spec"
    ROW = (
        "spec nodes degree steps=cost.steps bandwidth=cost.bandwidth bandwidth_float=float(cost.bandwidth)",
        "allgather_bandwidth=allgather.bandwidth duplex found basis version",
        "all_to_all_lower=all_to_all.lower all_to_all_upper=all_to_all.upper",
    )

    @property
    def mean(self) -> Cost:
        """The mean of reduce-scatter and allgather, twice which an allreduce takes."""
        return self.cost.average_with(self.allgather)

    @property
    def twice_mean(self) -> tuple[int, int]:
        """Numerator and denominator of the sum of both factors, unreduced."""
        n, d = self.cost.bandwidth.as_integer_ratio()
        if self.allgather is self.cost:
            return 2 * n, d
        m, e = self.allgather.bandwidth.as_integer_ratio()
        return n * e + m * d, d * e

    @property
    def price(self) -> Price:
        """What the quality of a catalog is judged by."""
        n, d = self.twice_mean
        return self.nodes, self.cost.steps, n, 2 * d, self.duplex

    @property
    def wiring(self) -> str:
        """The word for ``duplex`` in the file."""
        return "duplex" if self.duplex else "simplex"

    @property
    def either_way(self) -> str:
        """The spec, or the base of a transpose: equal for both."""
        return self.spec[len("transpose(") : -1] if self.spec.startswith("transpose(") else self.spec

    @property
    def deferred(self) -> bool:
        """Whether it takes a deferred schedule to have this price."""
        return self.basis is Basis.DEFERRED

    @property
    def key(self) -> tuple[int, int, Fraction, bool, Fraction]:
        """The order in the file: nodes, steps, falling factors, SPFF first."""
        return self.nodes, self.cost.steps, -self.cost.bandwidth, self.deferred, -self.allgather.bandwidth

    def leads(self, other: Row) -> bool:
        """Return whether nodes, steps and factor order it before another row.

        Faster than comparing keys.
        """
        if self.nodes != other.nodes:
            return self.nodes < other.nodes
        if self.cost.steps != other.cost.steps:
            return self.cost.steps < other.cost.steps
        (n, d), (m, e) = self.cost.bandwidth.as_integer_ratio(), other.cost.bandwidth.as_integer_ratio()
        return n * e > m * d

    @property
    def price_key(self) -> PriceKey:
        """The key in all-to-all price files: nodes and check of the line."""
        return self.nodes, self.line[-8:]

    def build(self) -> Topology:
        """Build the topology."""
        from topodesign.topology.library import build  # noqa: PLC0415  heavy, and looking up needs none of it

        return build(self.spec)

    def heading(self) -> str:
        """Return the spec and its price."""
        return f"{shorten_text(self.spec)}, {self.cost.steps} steps, bandwidth factor {self.cost.bandwidth}"

    @property
    def line(self) -> str:
        """The line of the file, without a line break."""
        text = "\t".join(
            (
                str(self.nodes),
                str(self.degree),
                str(self.cost.steps),
                str(self.cost.bandwidth),
                str(self.allgather.bandwidth),
                self.wiring,
                self.found,
                self.basis,
                str(self.version),
                self.spec,
            )
        )
        return f"{text}\t{_check(text)}"


def read_row(line: str) -> Row:
    """Read a line of a catalog file."""
    text, _, check = line.rpartition("\t")
    cells = text.split("\t")
    if len(cells) != len(COLUMNS) - 1:
        raise CatalogError(f"the row has {len(cells) + 1} columns, not {len(COLUMNS)}")
    if check != _check(text):
        raise CatalogError(f"the row does not agree with its check {check}: it was edited or truncated")
    nodes, degree, steps, bandwidth, allgather, wiring, found, basis, version, spec = cells
    try:
        cost = Cost(int(steps), _fraction(bandwidth))
        back = cost if allgather == bandwidth else Cost(cost.steps, _fraction(allgather))
        return Row(int(nodes), int(degree), cost, back, _DUPLEX[wiring], found, _BASES[basis], int(version), spec)
    except (ValueError, KeyError, ZeroDivisionError) as error:
        raise CatalogError(f"a cell of the row cannot be read: {error}") from None


def read_price(line: bytes) -> Price:
    """Return :attr:`Row.price` of a line in a quarter of the time.

    Raises ValueError for a changed line.

    The other cells are taken to be right, as they were when the check was made.
    """
    text, check = line[:-9], line[-8:]
    if zlib.crc32(text) != int(check, 16):
        raise ValueError
    nodes, _, steps, there, back, wiring, _ = text.split(b"\t", 6)
    n, _, d = there.partition(b"/")
    numerator, denominator = int(n), int(d or 1)
    if back == there:
        return int(nodes), int(steps), 2 * numerator, 2 * denominator, wiring == b"duplex"
    n, _, d = back.partition(b"/")
    other = int(d or 1)
    total = numerator * other + int(n) * denominator
    return int(nodes), int(steps), total, 2 * denominator * other, wiring == b"duplex"


def _check(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _fraction(text: str) -> Fraction:
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator), int(denominator or 1))


def describe_origin(spec: Spec) -> str:
    """Return the origin of a topology, by its outermost name but a transpose.

    ``family`` (a known family of graphs), ``expansion`` (built from smaller ones), ``circulant``, ``cayley`` or
    ``lift`` (of which there are families, and more by search), ``neighbour`` (nodes taken out of or put into a
    topology of another size) or ``annealed`` (links that exchange their ends).
    """
    while spec.name == "transpose" and isinstance(spec.args[0], Spec):
        spec = spec.args[0]
    return _FOUND.get(spec.name, "family")


def select_frontier(rows: Iterable[Row], *, duplex: bool) -> list[Row]:
    """Return one size's frontier, among all or duplex rows, steps ascending.

    It is of steps and the mean of both bandwidth factors: of what an allreduce takes. Of rows that take the same the
    one whose factors differ least is taken, of these the one that is there with fewer steps, and else the first.
    """
    front: list[Row] = []
    for row in rows:
        if duplex and not row.duplex:
            continue
        best = front[-1] if front else None
        if best is not None and best.cost.steps == row.cost.steps:
            before = front[-2].spec if len(front) > 1 else None
            if _is_preferred(row, best, before):
                front[-1] = row
        elif best is None or _compare_means(row, best) < 0:
            front.append(row)
    return front


def _is_preferred(row: Row, other: Row, before: str | None) -> bool:
    """Return whether a row is preferred to another of equal steps."""
    faster = _compare_means(row, other)
    if faster:
        return faster < 0
    return (row.cost.bandwidth, row.spec != before) < (other.cost.bandwidth, other.spec != before)


def _compare_means(row: Row, other: Row) -> int:
    """Return the sign of the difference of mean factors, in integers."""
    (n, d), (m, e) = row.twice_mean, other.twice_mean
    return n * e - m * d


def worth_keeping(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of one size to keep, in file order.

    These are the frontiers of all topologies and of the duplex ones, both by SPFF alone, whose prices expansions build
    on, and with deferred schedules.
    """
    every = sorted(rows, key=lambda row: row.key)
    spff = [row for row in every if not row.deferred]
    fronts = (select_frontier(some, duplex=duplex) for duplex in (False, True) for some in (spff, every))
    return sorted({row.key: row for front in fronts for row in front}.values(), key=lambda row: row.key)
