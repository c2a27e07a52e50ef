"""Claims: what is best, among what, and by which proof.

Everything that the program says of being best is a :class:`Claim`, made where the proof is, and the words are here
alone: tables, JSON and pages render the claim. A claim names its scope, so that the best row of a catalog is not taken
for the best topology, nor the best trees for the best schedule. What was not searched is not claimed. Each kind of
claim (what, among what) has an oracle in ``tests/claims/`` that tries to refute it.

A new scope is a member of :class:`Among`, with its oracle there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from fractions import Fraction

from topodesign.base.declared import Declared, key
from topodesign.base.wording import count_noun

FASTEST_OF_COLUMN = "* fastest in its column"  # below tables whose asterisks mark the least of what the column shows

PROVEN_NONE = "proven: there is none"  # of what was looked for among all that there can be

NOT_PROVEN_NONE = "not proven: there may be one"  # of what was looked for in vain for as long as there was time


def fastest_of(among: Scope) -> str:
    """Return the superlative of a frontier with its scope.

    For example ``the fastest of the catalog entries``.
    """
    return f"the fastest of {among}"


def first_of(count: int) -> str:
    """Return the claim on the best of a number of candidates."""
    return f"best of {count_noun(count, 'candidate')} (not proven)"


def turning_words(where: str, then: str, now: str) -> str:
    """Return the sentence that names the fastest beyond a turning point.

    For example ``above --gap 1us best is the fastest instead of fattree``.
    """
    return f"{where} {then} is the fastest instead of {now}"


FASTEST_FROM = "fastest from"  # above the size of data from which on a row is the fastest of a table's
ALL_PROVEN, NOT_ALL_PROVEN = "every row proven", "not every row proven"
"""Of a table whose rows say each by what."""
THE_LEAST = "the proven minimum"
"""The bound that what a limit on chunks loses is counted from; it is the least y over all numbers of chunks."""


class Proof(StrEnum):
    """What a claim rests on."""

    BOUND = "bound"
    """It meets a bound that holds for all of those that it is compared with."""
    SEARCH = "search"
    """All others were searched, in exact numbers."""
    DUAL = "dual"
    """Prices or a cut, checked in whole numbers, that none of the others gets around."""
    LISTED = "listed"
    """All of those that it is compared with are at hand, and were compared."""
    NONE = "none"
    """It is not proven."""


class Scope(StrEnum):
    """Those that a value is compared with, in words after "among"."""

    TOPOLOGIES = "topologies with the same nodes and ports"
    DUPLEX = "duplex topologies with the same nodes and ports"
    CATALOG = "the catalog entries"
    FOUND = "the topologies that were found"
    CARRIED = "topologies that this cabling supports"
    SCHEDULES = "schedules"
    STEPS = "schedules with this number of steps"
    CHUNKS = "schedules with the same steps and equal chunks"
    WHOLE = "plans of whole chunks"
    TREES = "schedules over trees of nodes, with switches that only forward"
    CAPABLE_TREES = "schedules over trees of nodes and of the switches that can copy or add"
    IN_TURN = "reduce-scatters of equal shards followed by allgathers, over trees of nodes that others only forward"
    MEMBER_TREES = "schedules over trees of the members, with other nodes and switches that only forward"
    CAPABLE_MEMBER_TREES = (
        "schedules over trees of the members and of switches that can copy or add, with others that only forward"
    )
    STEADY_TREES = "steady schedules that send every part of the data over a tree, in parts of any size"
    AS_FAST = "solutions that are as fast"
    PURCHASES = "purchases of such links that reach this throughput"
    WITHIN_BUDGET = "purchases of such links within the budget"
    LAYOUTS = "the placements that were tried"
    FLOWS = "flows over nodes and switches, in parts of any size"
    CABLES = "choices of cables that are alike for ports of a rack that go to the same racks"
    CHANGES = "changes between these plans"
    PLACED_CHANGES = "changes between these plans that take these hosts for their nodes"
    CIRCUITS = "plans over circuits that change, an allreduce being a reduce-scatter and an allgather"
    REPAIRS = "repairs that make these links between the hosts"

    @classmethod
    def over_trees(cls, *, capable: bool, members: bool = False) -> Scope:
        """Return the scope of schedules over trees.

        Of all nodes or some members; switches copy and add, or only forward.
        """
        if members:
            return cls.CAPABLE_MEMBER_TREES if capable else cls.MEMBER_TREES
        return cls.CAPABLE_TREES if capable else cls.TREES


class Of(Enum):
    """The quantity of a claim: its superlative, and its JSON name."""

    STEPS = "fewest steps", "steps"
    FACTOR = "least BW factor", "bandwidth"
    TIME = "least time", "time"
    RATE = "most bandwidth", "algorithmic_bandwidth"
    MOVES = "fewest moves", "moves"
    PATCHES = "fewest patches", "patches"
    COST = "least cost", "cost"
    ROUNDS = "fewest rounds", "rounds"

    @property
    def best(self) -> str:
        """The superlative."""
        return str(self.value[0])

    @property
    def key(self) -> str:
        """Its name in JSON documents."""
        return str(self.value[1])


@dataclass(frozen=True, slots=True)
class Claim(Declared):
    """A claim that a value is best in a scope, or at most a gap away.

    * ``bound``: what none of them goes below (of a rate, above); None where that is not known. Proven, it is the value
      itself.
    * ``by``: the theorem, search or certificate in words, or why it is not proven; empty if it needs no words.
    """

    of: Of  # what is least (of a rate, most)
    value: Fraction | int  # how much it is: steps, a bandwidth factor, seconds, bytes per second, a number of patches
    among: Scope  # those that it is compared with
    proof: Proof  # what that rests on; ``Proof.NONE`` where none of them is known to be better, but one may be
    bound: Fraction | int | None = None
    by: str = ""

    KEYS = (
        key("of=of.key", kind=tuple(one.key for one in Of)),
        "value=str(value)",
        key("among=str(among)", "What it is compared with.", kind=tuple(map(str, Scope))),
        "proof bound=str(bound)",
        key("by=or_null(by)", "The theorem, search or certificate, or why it is not proven; null if none is given."),
        key("words=str(self)", "The claim in a sentence.", kind=str),
    )
    SHARED = "claim"

    @classmethod
    def to_bound(
        cls, of: Of, value: Fraction | int, among: Scope, bound: Fraction | int, *, by: str = "", missed: str = ""
    ) -> Claim:
        """Return the claim of a value beside a bound.

        It is proven, by prices or a cut, if the value meets the bound.
        """
        met = value == bound
        return cls(of, value, among, Proof.DUAL if met else Proof.NONE, bound, by if met else missed)

    @property
    def proven(self) -> bool:
        """Whether it is proven that none of them is better."""
        return self.proof is not Proof.NONE

    @property
    def gap(self) -> Fraction | None:
        """The gap to the bound as a share of the bound.

        0 if proven; None if no bound is known.
        """
        if self.proven:
            return Fraction(0)
        if not self.bound or not self.value:
            return None
        ratio = Fraction(self.value) / Fraction(self.bound)
        return (1 / ratio if self.of is Of.RATE else ratio) - 1

    @property
    def verdict(self) -> str:
        """A short verdict beside a figure, such as ``optimal (proven)``."""
        if self.proof is Proof.LISTED:
            return f"best of {self.by or self.among} (not proven)"
        if self.proven:
            return "optimal (proven)"
        if self.gap is None:
            return "best known (not proven)"
        return f"within {float(self.gap):.2%} of the {'upper' if self.of is Of.RATE else 'lower'} bound"

    def __str__(self) -> str:
        """Return verdict, quantity, scope and reason, without a full stop."""
        if self.proof is Proof.LISTED:
            return self.verdict
        return f"{self.verdict}: {self.of.best} among {self.among}{f' ({self.by})' if self.by else ''}"

    @property
    def figure(self) -> str:
        """The superlative with its figure and reason, such as ``fewest steps (5)``."""
        value = Fraction(self.value)
        figure = str(value) if value.denominator == 1 else f"{float(value):.4f}"
        return f"{self.of.best} ({figure}{f', {self.by}' if self.by else ''})"


def join_claims(claims: Sequence[Claim]) -> str:
    """Join proven claims of one scope in a sentence without its full stop."""
    return f"Optimal (proven): {' and '.join(claim.figure for claim in claims)} among {claims[0].among}"
