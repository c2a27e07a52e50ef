"""What a fabric does over an average year, pieces failing and being replaced, with spares and without.

Pieces of a kind fail independently at a constant rate, a place that is dark counted on (so slightly more failures than
there are). A piece that fails is ordered again at once and comes after a lead time L; swapping takes a time t once a
spare is there, first come, first served. Then the pieces that are down at any time are those that failed in the last t,
and those of the L before that which s spares did not cover,

    D = Poisson(r t) + max(Poisson(r L) - s, 0)

with r failures a second, and the two are independent, as they fall into different times (the identity of base-stock
inventories with fixed lead times; Hadley and Whitin, Analysis of Inventory Systems, 1963, section 4). Each of them
is any piece of its kind with the same chance. So the mean over a long time is a sum over sets of pieces. Sets of one
and two are priced, those that a symmetry of the wired topology turns into each other once, as far as the effort goes;
what is left is held between bounds: if p patches are lost and any cut has c > p links, all links together still do
(c - p)/c of what they did, and a host that lost a link receives at most what its other links bring. Chances are rounded
down and what that leaves counts on the side of each bound, so that the mean is certainly between the two.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

import numpy as np

from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.declared import Declared
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.records import Result, Table
from topodesign.base.units import Quantity, as_time, format_rate
from topodesign.base.wording import counted
from topodesign.topology.automorphisms import find_symmetry, link_classes
from topodesign.wiring.change.patches import wired_topology
from topodesign.wiring.change.strength import strength
from topodesign.wiring.failures.impact import links_of, losses
from topodesign.wiring.failures.order import Served, served
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.plan import WiringPlan

PieceKind = Literal["host", "port", "panel port", "cable", "switch"]
PIECES: tuple[PieceKind, ...] = get_args(PieceKind)

SWAP = 4 * 3600  # seconds to swap a piece if nothing is said
LEAD = 30 * 24 * 3600  # seconds until a piece that was ordered is there
_YEAR = 8766 * 3600
_FIT = 10**9 * 3600  # seconds in which a FIT is a failure
_EFFORT = 4_000_000  # hosts times links over all that is priced
_DIGITS = 2**100  # chances are multiples of its inverse
_TAIL = Fraction(1, 10**12)  # of the chances that are left out
_MOST = 400  # pieces of a kind that are down at a time


@dataclass(frozen=True)
class PieceRow(Declared):
    """Pieces of a kind.

    * ``kind``, ``count``: what they are, and how many of them carry links.
    * ``down``, ``down_without``: how many are down at any time on the average: with these spares, and with none.
    """

    kind: str
    count: int
    fit: Fraction  # failures of one in 10^9 hours
    failures: Fraction  # of all in a year, on the average
    spares: int  # in stock
    down: float
    down_without: float

    KEYS = "kind count fit=float(fit) failures=float(failures) spares down down_without"
    SHARED = "piece_row"


@dataclass(frozen=True)
class Expected(Declared):
    """A mean over a long time that is certainly between two numbers, in bytes per second of all hosts together."""

    low: Fraction  # the numbers
    high: Fraction  # the numbers

    KEYS = "low=float(low) high=float(high)"
    SHARED = "expected"

    def share(self, of: Fraction) -> str:
        """Return it as a share of something in words."""
        low, high = (f"{float(100 * one / of):.4f}" for one in (self.low, self.high))
        return f"{low}%" if low == high else f"{low}% to {high}%"


@dataclass(frozen=True, repr=False)
class Year(Result):
    """What a fabric does over an average year."""

    swap: Fraction  # how long it takes to swap a piece when a spare is there
    lead: Fraction  # how long it takes until a piece that was ordered is there
    pieces: tuple[PieceRow, ...]  # what fails
    intact: Served  # what the links do while nothing is down
    expected: Expected  # the mean of that over a long time, with the spares
    expected_without: Expected  # the same without spares
    priced: int  # sets of pieces that were priced

    KEYS = "swap_s=float(swap) lead_s=float(lead) intact expected expected_without priced pieces"
    ROWS = "pieces"

    def heading(self) -> str:
        """Return what is expected."""
        whole = self.intact.together
        bare = self.expected_without.share(whole)
        return f"of {format_rate(whole)} of all hosts: {self.expected.share(whole)} with spares, {bare} without"

    def table(self) -> Table:
        """Return a row for each kind."""
        rows = [
            (
                one.kind,
                str(one.count),
                f"{float(one.fit):g}",
                f"{float(one.failures):.3g}",
                str(one.spares),
                f"{one.down:.3g}",
                f"{one.down_without:.3g}",
            )
            for one in self.pieces
        ]
        columns = ("piece", "count", "FIT", "failures a year", "spares", "down", "without")
        foot = (
            f"swapping takes {_hours(self.swap)}, a new piece comes after {_hours(self.lead)}; "
            f"'down' is the mean at any time\n{counted(self.priced, 'set')} of pieces priced, the others bounded"
        )
        return Table(self.heading(), columns, tuple(rows), words=frozenset({"piece"}), footnote=foot)


def expected_year(
    plan: WiringLike,
    fails: Mapping[PieceKind, Fraction | int],
    *,
    spares: Mapping[PieceKind, int] | None = None,
    swap: Quantity = SWAP,
    lead: Quantity = LEAD,
    progress: Callable[[float], None] | None = None,
) -> Year:
    """Say what allreduces of all hosts do on average over a long time, as pieces fail and are replaced.

    Parameters
    ----------
    plan
        A plan, or the path of its file.
    fails
        How often a piece fails, in FIT (failures in 10^9 hours), by kind: ``host``, ``port`` of a host (its optic and
        cable), ``panel port``, ``cable`` (a patch or circuit), ``switch`` (a circuit switch with all its circuits).
    spares
        How many are in stock, by kind; none of others.
    swap, lead
        How long a swap takes, and how long it is until a piece that was ordered comes: text such as ``4h``, or seconds.
    progress
        Told the share that is done.

    Raises
    ------
    ParameterError
        If a kind is unknown or not there, or a number is out of range.
    UnitError, FileFormatError
        If a time is none, or the plan cannot be read.

    Examples
    --------
    >>> from topodesign import plain_inventory, wire
    >>> plan = wire("circulant(12,2,3)", plain_inventory(12, 4))
    >>> found = expected_year(plan, {"port": 400}, spares={"port": 1})
    >>> found.expected.low > found.expected_without.high
    True
    """
    wiring = as_wiring(plan)
    rates = {as_choice("fails", kind, PIECES): _rate(kind, fit) for kind, fit in fails.items()}
    stock = {as_choice("spares", kind, PIECES): as_integer("spares", n, 0) for kind, n in (spares or {}).items()}
    if not rates:
        raise ParameterError(f"say how often something fails, in FIT: {', '.join(PIECES)}")
    loose = next((kind for kind in stock if kind not in rates), None)
    if loose is not None:
        raise ParameterError(f"there are spares for '{loose}', which is not said to fail; say how often")
    times = as_time(swap), as_time(lead)
    return _Year(wiring, rates, progress or (lambda _share: None)).found(stock, *times)


def _rate(kind: str, fit: object) -> Fraction:
    if isinstance(fit, bool) or not isinstance(fit, int | Fraction | float) or not 0 < fit <= 10**7:
        raise ParameterError(f"the failures of '{kind}' in 10^9 hours must be above 0 and at most 10^7")
    return Fraction(str(fit)) if isinstance(fit, float) else Fraction(fit)


def _hours(seconds: Fraction) -> str:
    hours = seconds / 3600
    return f"{float(hours / 24):g} days" if hours >= 48 else f"{float(hours):g} hours"


class _Kind(NamedTuple):
    """Pieces of a kind: their failures in a second, what each loses, and which of them a symmetry makes alike."""

    name: PieceKind
    rate: Fraction
    lost: list[frozenset[str]]
    classes: list[int]


class _Year:
    """The sum over sets of pieces that are down."""

    def __init__(self, plan: WiringPlan, rates: Mapping[PieceKind, Fraction], advance: Callable[[float], None]) -> None:
        self.plan, self.rates, self.advance = plan, rates, advance
        self.known: dict[frozenset[str], Served] = {}
        self.intact = served(plan, plan.connects)
        if not self.intact.together:
            raise InfeasibleError("some hosts of the plan do not reach some others while nothing is down")
        whole = wired_topology(plan.hosts, plan.connects)
        symmetry = find_symmetry(whole, np.zeros(whole.nodes, dtype=np.int64))
        self.kinds = []
        for kind, fit in rates.items():
            pieces = _pieces(plan, kind)
            if not pieces:
                raise ParameterError(f"no {kind} of the plan carries links, so none can fail")
            numbers = link_classes(symmetry, [links_of(plan, lost) for lost in pieces])
            lost = [frozenset(one.cable for one in some) for some in pieces]
            self.kinds.append(_Kind(kind, fit * len(pieces) / _FIT, lost, list(numbers)))
        self.cut = strength(whole, plan.speed).connectivity
        self.degree = int(max(whole.out_ports.max(), whole.in_ports.max()))
        self.left = _EFFORT // max(whole.nodes * len(plan.connects), 1)
        self.one = [self._average(kind, [frozenset()]) for kind in self.kinds]
        self.two = {
            (i, j): self._average(self.kinds[i], self.kinds[j].lost)
            for i, j in itertools.combinations_with_replacement(range(len(self.kinds)), 2)
        }

    def found(self, spares: Mapping[PieceKind, int], swap: Fraction, lead: Fraction) -> Year:
        """Return the means with spares and without."""
        rows = []
        for kind in self.kinds:
            stock = spares.get(kind.name, 0)
            down, bare = (_mean(kind.rate, swap, lead, number) for number in (stock, 0))
            year = kind.rate * _YEAR
            rows.append(PieceRow(kind.name, len(kind.lost), self.rates[kind.name], year, stock, down, bare))
        kept, none = (
            self._mean([down_chances(kind.rate, swap, lead, some.get(kind.name, 0)) for kind in self.kinds])
            for some in (spares, {})
        )
        return Year(swap, lead, tuple(rows), self.intact, kept, none, len(self.known))

    def _mean(self, chances: Sequence[list[Fraction]]) -> Expected:
        """Return bounds on the mean, from what the chances of numbers of pieces down are at least."""
        states: dict[tuple[tuple[int, ...] | None, int], Fraction] = {((), 0): Fraction(1)}
        for number, some in enumerate(chances):
            wide = max(map(len, self.kinds[number].lost))
            more: dict[tuple[tuple[int, ...] | None, int], Fraction] = {}
            for (drawn, lost), chance in states.items():
                for down, each in enumerate(some):
                    now = None if drawn is None or len(drawn) + down > 2 else (*drawn, *[number] * down)
                    state = now, min(lost + wide * down, self.cut) if down else lost
                    more[state] = more.get(state, Fraction(0)) + chance * each
            states = {state: _down(chance) for state, chance in more.items()}
        low, rest = Fraction(0), 1 - sum(states.values(), Fraction(0))
        high = rest * self._most(0)
        for (drawn, lost), chance in states.items():
            least, most = self._between(drawn, lost)
            low += chance * least
            high += chance * most
        return Expected(low, high)

    def _between(self, drawn: tuple[int, ...] | None, lost: int) -> tuple[Fraction, Fraction]:
        if drawn is None:
            return self._least(lost), self._most(lost)
        if len(drawn) == 2:
            return self.two[drawn[0], drawn[1]]
        return self.one[drawn[0]] if drawn else (self.intact.together, self.intact.together)

    def _least(self, lost: int) -> Fraction:
        """Return what is left at least when at most so many patches are lost."""
        return self.intact.together * max(self.cut - lost, 0) / self.cut

    def _most(self, lost: int) -> Fraction:
        """Return what is left at most when some patch is lost, and no more than so many (from the cut on: any)."""
        links = self.degree - (0 < lost < self.cut)
        hosts = len(self.plan.hosts)
        return Fraction(hosts**2 * links, 16 * (hosts - 1)) * self.plan.speed

    def _average(self, kind: _Kind, others: Sequence[frozenset[str]]) -> tuple[Fraction, Fraction]:
        """Return bounds on the mean over all pieces of a kind, of those alike the first, each with each of others."""
        low = high = Fraction(0)
        times = Counter[frozenset[str]]()
        for first, size in _examples(kind):
            for lost in others:
                times[kind.lost[first] | lost] += size
        for place, (lost, size) in enumerate(times.items()):
            self.advance(place / len(times))
            least, most = self._least(len(lost)), self._most(len(lost))
            if lost in self.known or self.left > 0:
                if lost not in self.known:
                    self.left -= 1
                    self.known[lost] = served(self.plan, [c for c in self.plan.connects if c.cable not in lost])
                least = most = self.known[lost].together
            low += size * least
            high += size * most
        count = len(kind.lost) * len(others)
        return low / count, high / count


def _pieces(plan: WiringPlan, kind: PieceKind) -> list[list[CrossConnect]]:
    """Return the patches that each piece of a kind loses."""
    if kind != "switch":
        return list(losses(plan, [kind]).values())
    switches = list(plan.inventory.switches)
    found = ([c for c in plan.connects if name in {c.a.panel, c.b.panel}] for name in switches)
    return [some for some in found if some]


def _examples(kind: _Kind) -> list[tuple[int, int]]:
    """Return the first piece of those that are alike, and how many they are."""
    first: dict[int, int] = {}
    for place, number in enumerate(kind.classes):
        first.setdefault(number, place)
    count = Counter(kind.classes)
    return [(place, count[number]) for number, place in first.items()]


def down_chances(rate: Fraction, swap: Fraction, lead: Fraction, spares: int) -> list[Fraction]:
    """Return what the chances are at least that 0, 1, 2, ... pieces are down."""
    swapped, ordered = _poisson(rate * swap), _poisson(rate * lead)
    waiting = [sum(ordered[: spares + 1], Fraction(0)), *ordered[spares + 1 :]]
    chances = [Fraction(0)] * (len(swapped) + len(waiting) - 1)
    for one, chance in enumerate(swapped):
        for two, other in enumerate(waiting):
            chances[one + two] += chance * other
    return [_down(chance) for chance in chances]


def _poisson(mean: Fraction) -> list[Fraction]:
    """Return what the chances of 0, 1, 2, ... are at least, until hardly any are left."""
    if mean > _MOST // 4:
        raise ParameterError(f"{float(mean):.0f} pieces would be down at a time; times or failures are too many")
    low, term, place = Fraction(1), Fraction(1), 0
    while term * (place + 1) > low * _TAIL / _DIGITS or place < 2 * mean + 2:
        place += 1
        term = _down(term * mean / place) + Fraction(
            1, _DIGITS
        )  # at least the term, so that the sum is at least e^mean
        low += term
        if place > _MOST:
            break
    chance, chances, total = _down(1 / (low + 2 * term)), list[Fraction](), Fraction(0)
    while len(chances) <= _MOST and (1 - total > _TAIL or len(chances) <= mean):
        chances.append(chance)
        total += chance
        chance = _down(chance * mean / len(chances))
        if not chance:
            break
    return chances


def _down(value: Fraction) -> Fraction:
    return Fraction(value.numerator * _DIGITS // value.denominator, _DIGITS)


def _mean(rate: Fraction, swap: Fraction, lead: Fraction, spares: int) -> float:
    """Return how many pieces are down on the average, in floats."""
    return float(sum(number * chance for number, chance in enumerate(down_chances(rate, swap, lead, spares))))
