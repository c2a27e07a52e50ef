"""Components of a decision: contenders, turns, limits, failures, stages, files."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from topodesign.base.declared import Declared, key
from topodesign.base.units import format_excess, format_size_rounded, format_time
from topodesign.base.wording import join_words
from topodesign.fabrics.boxes import BoxSpec
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.plan import Plan
from topodesign.pricing.mix import Share
from topodesign.report.comparison.measures import Counts
from topodesign.report.comparison.timing import Timing
from topodesign.schedulers.step import StepTime
from topodesign.topology.topology import Topology
from topodesign.wiring.plan.plan import Item, WiringPlan

ALL_SIZES = "all sizes"  # what a turn is about that is about no collective
PRICED = "price of flows"  # the method of a part that has a price, and no plan that it is of
KNOWN = "best plan known"  # the same of collectives whose price is that of a plan that can be made
FAR = 20  # times the least time is no contender where time is asked for, however cheap it is
OfferKind = Literal["direct", "plant", "boxes", "rival"]


@dataclass(frozen=True)
class Part(Declared):
    """Collective of a step on a contender, with its times."""

    share: Share  # the collective, its size and how often
    method: str  # by which method it is scheduled, or what it is priced by
    seconds: Fraction  # seconds of one run, of its plan or the price of flows
    latency: Fraction  # seconds of that without any data
    plan: Plan | None = None  # the verified plan; None where there is a price alone
    planned: Fraction | None = None  # seconds of its verified plan; null where none was made
    timing: Timing | None = None  # of its plan for any size; None where there is a price alone

    KEYS = (
        "*share method time_s=float(seconds) planned_s=float(planned) latency_s=float(latency)",
        "in_step_s=float(in_step)",
    )

    @property
    def planned_words(self) -> str:
        """Time of the verified plan if it differs from the computed cost; else empty."""
        if self.planned is None or self.planned == self.seconds:
            return ""
        return f"{format_time(self.planned)}, verified; flows {format_time(self.seconds)}"

    @property
    def in_step(self) -> Fraction:
        """Seconds of all runs in a step."""
        return self.share.count * self.seconds


@dataclass(frozen=True)
class Offer(Declared):
    """Contender to wire or buy, with all compared figures.

    * ``price``, ``watts``: None if no costs or no power figures were given.
    * ``frontier``: whether none that can be recommended is as fast and as cheap (and draws as little), and better in
      one of these.
    """

    name: str  # short: ``catalog(200,6,1)``, ``torus``
    kind: OfferKind  # ``direct`` of the frontier, ``plant`` made for the room, ``boxes``, or a ``rival``
    spec: str | None  # the text that rebuilds it; None where there is none
    place: Topology | Fabric  # its links; of boxes those between boxes
    parts: tuple[Part, ...]  # the collectives of the step; none of a step of a model
    counts: Counts  # cables, ports and switches, and the failures that it survives
    price: Fraction | None
    watts: Fraction | None
    refused: str | None = None  # why it cannot be the recommendation; None where it can
    frontier: bool = False
    step: StepTime | None = None  # where the time of a training step of a model goes; None without a model
    fabric: Fabric | None = None  # boxes with all that is inside; None where nodes stand alone
    boxed: BoxSpec | None = None  # which NIC of a box has which cable; None where nodes stand alone, and of rails
    wiring: WiringPlan | None = None  # its circuits in the room; None where it is yet to be wired
    least: Fraction | None = None  # seconds of a step that none of its plans undercuts; None where ``time`` is all
    shown: bool = True  # whether it stays in the table if another takes no more of anything

    KEYS = (
        "name kind spec",
        key("time_s=float(seconds)", "Seconds of a step."),
        "time parts step *counts",
        key("price=float(price)", "Price of cables, ports and switches; null where no prices are given."),
        key("watts=float(watts)", "Watts; null where none are given."),
        key("simplex=not(topology.is_duplex)", "Whether links go one way only."),
        "refused frontier",
    )
    SHARED = "offer"

    @property
    def time(self) -> Fraction:
        """Seconds of a step, exactly."""
        return sum((one.in_step for one in self.parts), Fraction(0)) if self.step is None else self.step.seconds

    seconds = time

    @property
    def topology(self) -> Topology:
        """Links of the network."""
        return self.place.topology if isinstance(self.place, Fabric) else self.place

    @property
    def planned(self) -> bool:
        """Whether its time is final, not pending a plan."""
        return self.least is None


@dataclass(frozen=True)
class Turn(Declared):
    """Factor on sizes or run counts from which another contender leads.

    * ``at``: there, bytes of each collective in the order of the request, or how often the collective runs; nothing of
      a step of a model.
    * ``now``, ``then``: names of who is ahead on this side, and on the other.
    """

    what: str  # ``all sizes``, or a collective of the mix: how often it runs
    factor: Fraction  # from which on it wins, times what was asked for
    above: bool  # whether above that factor, or below
    at: tuple[Fraction, ...]
    now: str
    then: str

    KEYS = ("what factor=float(factor) above at=float(at) now then", key("words=str(self)", "In a sentence.", kind=str))

    def __str__(self) -> str:
        """Return the turn as a sentence without a full stop."""
        side = "above" if self.above else "below"
        if len(self.at) == 1 and self.what != ALL_SIZES:
            return f"{self.then} is ahead with {self.what} {side} {float(self.at[0]):.4g} times a step"
        sizes = f" ({join_words([format_size_rounded(size) for size in self.at])})" if self.at else ""
        return f"{self.then} is ahead {side} {float(self.factor):.3g} times {ALL_SIZES}{sizes}"


@dataclass(frozen=True)
class Limit(Declared):
    """Limit of a collective of the recommendation."""

    collective: str  # which
    by: Literal["steps", "links"]  # the time of ``steps`` (latency), or of ``links`` (bandwidth), whichever is more
    links: tuple[str, ...]  # the fullest links by the names of their hosts, a few of them
    full: int  # how many links are as full
    of: int  # how many links there are
    seconds: Fraction  # seconds of one run
    least: Fraction  # what no wiring of as many nodes and ports undercuts

    KEYS = (
        "collective by links full of time_s=float(seconds) least_s=float(least)",
        key("words=str(self)", "In a sentence.", kind=str),
    )

    def __str__(self) -> str:
        """Return the limit as a sentence without a full stop."""
        by: str = self.by
        if by == "links" and self.links:
            by = f"links; {self.full} of {self.of} are the most loaded, such as {self.links[0]}"
        over_bound = format_excess(self.seconds / self.least)
        return f"{by}; {format_time(self.seconds)}, {over_bound} over the bound of any wiring"


@dataclass(frozen=True)
class Loss(Declared):
    """Cost of failed cables, by schedules or flows on remaining links."""

    cables: tuple[str, ...]  # the cables that fail, by their names in the wiring plan
    links: tuple[str, ...]  # the same by the names of hosts
    seconds: Fraction | None  # seconds of a step then; null where not all reach each other
    looked_at: int  # failures that were compared
    all_of_them: bool  # whether these are all that there can be; those that a symmetry makes alike count

    KEYS = (
        "cables links time_s=float(seconds) looked_at all_of_them",
        key("words=str(self)", "In a sentence.", kind=str),
    )

    def __str__(self) -> str:
        """Return the loss as a sentence without a full stop."""
        return self.words()

    def words(self, best: Offer | None = None) -> str:
        """Return the loss as a sentence, compared with the time of a contender if given."""
        if self.seconds is None:
            costs = "not all reach each other"
        else:
            more = "" if best is None else f" ({over(self.seconds / best.time)})"
            costs = f"a step takes {format_time(self.seconds)}{more}"
        among = "the worst of all" if self.all_of_them else "the worst that was found, of"
        return f"{costs}, {among} {self.looked_at}: {join_words(list(self.links))}"


@dataclass(frozen=True)
class Stage(Declared):
    """Growth stage: a larger size with its topology and moves."""

    nodes: int  # how many then
    name: str  # what is wired then
    topology: Topology  # its links
    moves: int  # patches to move from the stage before
    at_least: int  # what any change to it moves
    seconds: Fraction  # seconds of a step then
    needs: str = ""  # what the room has to get before that, in words; empty if it has hosts for it
    buy: tuple[Item, ...] = ()  # cables to buy before that, where the room has to get hosts

    KEYS = (
        "nodes name moves bound=at_least time_s=float(seconds)",
        key("needs?=or_null(needs)", "What the room has to get before that; not there if it has enough hosts."),
        key("buy?=or_null(buy)", "Cables to buy then, where the room has to get hosts."),
    )


@dataclass(frozen=True)
class File(Declared):
    """Written file."""

    path: str  # relative to the directory
    about: str  # what it is for

    KEYS = "path about"


def over(ratio: Fraction) -> str:
    """Format a ratio as a percentage more or less."""
    return format_excess(ratio) if ratio >= 1 else f"{float(ratio - 1) * 100:.1f}%"
