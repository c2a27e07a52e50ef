"""The decision: what to wire, what comes next and when it would win, what limits it, failures, growth, and the bill."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from topodesign.base.arguments import as_path
from topodesign.base.claims import Claim
from topodesign.base.declared import Declared, key
from topodesign.base.records import Table, TextResult
from topodesign.base.units import format_time
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.plan import Plan
from topodesign.pricing.mix import Share
from topodesign.report.comparison.measures import Counts
from topodesign.report.design.bundle import saved
from topodesign.report.design.request import Request
from topodesign.report.design.words import contenders_table, decision_text, limit_words, loss_words, turn_words
from topodesign.topology.topology import Topology
from topodesign.wiring.plan.bill import Bill
from topodesign.wiring.plan.plan import WiringPlan

OfferKind = Literal["direct", "plant", "boxes", "rival"]


@dataclass(frozen=True)
class Part(Declared):
    """A collective of a step on a contender: its plan, verified, and what it takes.

    * ``share``: the collective, its size and how often.
    * ``plan``: the verified plan.
    * ``seconds``: of one run of it, simulated.
    * ``latency``: seconds of that which it would take without any data.
    """

    share: Share
    plan: Plan
    seconds: Fraction
    latency: Fraction

    KEYS = (
        "*share",
        key("method", "By which method it is scheduled."),
        key("time_s=float(seconds)", "Seconds of one run."),
        key("latency_s=float(latency)", "Seconds of that without any data."),
        key("in_step_s=float(in_step)", "Seconds of all runs in a step."),
    )

    @property
    def method(self) -> str:
        """By which method it is scheduled."""
        return str(self.plan.generator.get("method", self.plan.kind))

    @property
    def in_step(self) -> Fraction:
        """Seconds of all runs in a step."""
        return self.share.count * self.seconds


@dataclass(frozen=True)
class Offer(Declared):
    """A contender: what could be wired or bought, with all that is compared.

    * ``name``: short: ``catalog(200,6,1)``, ``torus``.
    * ``kind``: ``direct`` of the frontier, ``plant`` made for the room, ``boxes``, or a ``rival``.
    * ``spec``: the text that rebuilds it; None where there is none.
    * ``place``: its links.
    * ``parts``: the collectives of a step, in the order of the request.
    * ``counts``: cables, ports and switches, and the failures that it survives.
    * ``price``, ``watts``: None where nothing was said to cost or draw any.
    * ``refused``: why it cannot be the recommendation; None where it can.
    * ``frontier``: whether none that can be recommended is as fast and as cheap (and draws as little), and better in
      one of these.
    """

    name: str
    kind: OfferKind
    spec: str | None
    place: Topology | Fabric
    parts: tuple[Part, ...]
    counts: Counts
    price: Fraction | None
    watts: Fraction | None
    refused: str | None = None
    frontier: bool = False

    KEYS = (
        "name kind spec",
        key("time_s=float(seconds)", "Seconds of a step."),
        key("time", "Seconds of a step, exactly."),
        key("parts", "The collectives of the step."),
        "*counts",
        key("price=float(price)", "Price of cables, ports and switches; null where no prices are given."),
        key("watts=float(watts)", "Watts; null where none are given."),
        key("simplex=not(topology.is_duplex)", "Whether links go one way only."),
        "refused frontier",
    )
    SHARED = "offer"

    @property
    def time(self) -> Fraction:
        """Seconds of a step, exactly."""
        return sum((one.in_step for one in self.parts), Fraction(0))

    seconds = time

    @property
    def topology(self) -> Topology:
        """The links."""
        return self.place.topology if isinstance(self.place, Fabric) else self.place


@dataclass(frozen=True)
class Turn(Declared):
    """Where the runner-up wins: sizes, or one collective of the mix, times a factor.

    * ``what``: ``all sizes``, or a collective of the mix: how often it runs.
    * ``factor``: from which on it wins, times what was asked for.
    * ``above``: whether above that factor, or below.
    * ``at``: there, bytes of each collective in the order of the request, or how often the collective runs.
    * ``now``, ``then``: names of who is ahead on this side, and on the other.
    """

    what: str
    factor: Fraction
    above: bool
    at: tuple[Fraction, ...]
    now: str
    then: str

    KEYS = ("what factor=float(factor) above at=float(at) now then", key("words=str(self)", "In a sentence.", kind=str))

    def __str__(self) -> str:
        """Return it in a sentence without its full stop."""
        return turn_words(self)


@dataclass(frozen=True)
class Limit(Declared):
    """What limits a collective of the recommendation.

    * ``collective``: which.
    * ``by``: the time of ``steps`` (latency), or of ``links`` (bandwidth), whichever is more.
    * ``links``: the fullest links by the names of their hosts, a few of them.
    * ``full``: how many links are as full.
    * ``of``: how many links there are.
    * ``seconds``: of one run; ``least``: what no wiring of as many nodes and ports undercuts.
    """

    collective: str
    by: Literal["steps", "links"]
    links: tuple[str, ...]
    full: int
    of: int
    seconds: Fraction
    least: Fraction

    KEYS = (
        "collective by links full of",
        key("time_s=float(seconds)", "Seconds of one run."),
        key("least_s=float(least)", "What no wiring of as many nodes and ports undercuts."),
        key("words=str(self)", "In a sentence.", kind=str),
    )

    def __str__(self) -> str:
        """Return it in a sentence without its full stop."""
        return limit_words(self)


@dataclass(frozen=True)
class Loss(Declared):
    """What failures of cables cost, with schedules made anew for what is left.

    * ``cables``: the cables that fail, by their names in the wiring plan.
    * ``links``: the same by the names of hosts.
    * ``seconds``: of a step then; None where not all reach each other.
    * ``looked_at``: failures that were compared; ``all_of_them``: whether these are all that there can be, but for
      symmetry.
    """

    cables: tuple[str, ...]
    links: tuple[str, ...]
    seconds: Fraction | None
    looked_at: int
    all_of_them: bool

    KEYS = (
        "cables links",
        key("time_s=float(seconds)", "Seconds of a step then; null where not all reach each other."),
        "looked_at all_of_them",
        key("words=str(self)", "In a sentence.", kind=str),
    )

    def __str__(self) -> str:
        """Return it in a sentence without its full stop."""
        return loss_words(self)


@dataclass(frozen=True)
class Stage(Declared):
    """A size to grow to.

    * ``nodes``: how many then.
    * ``name``: what is wired then.
    * ``topology``: its links.
    * ``moves``: patches to move from the stage before; ``at_least``: what any change to it moves.
    * ``seconds``: of a step then, with as many ports.
    """

    nodes: int
    name: str
    topology: Topology
    moves: int
    at_least: int
    seconds: Fraction

    KEYS = (
        "nodes name moves bound=at_least",
        key("time_s=float(seconds)", "Seconds of a step then."),
    )


@dataclass(frozen=True)
class File(Declared):
    """A file that was written: its path, and what it is for."""

    path: str
    about: str

    KEYS = "path about"


@dataclass(frozen=True, repr=False)
class Decision(TextResult):
    """The answer to a request.

    * ``request``: what was asked.
    * ``contenders``: all that was compared, the first in what was asked first; those that cannot be recommended last.
    * ``missing``: rivals of which there is none of this size, and why.
    * ``turns``: where the runner-up wins.
    * ``limits``: what limits each collective of the recommendation.
    * ``failures``: what the worst one failure and the worst two cost.
    * ``growth``: stages to grow by, in order.
    * ``wiring``: the plan of the recommendation, checked.
    * ``claims``: what is proven, and what was only searched.
    * ``files``: what was written.
    """

    request: Request
    contenders: tuple[Offer, ...]
    missing: tuple[tuple[str, str], ...]
    turns: tuple[Turn, ...]
    limits: tuple[Limit, ...]
    failures: tuple[Loss, ...]
    growth: tuple[Stage, ...]
    wiring: WiringPlan
    claims: tuple[Claim, ...]
    files: tuple[File, ...] = ()

    KEYS = (
        "request recommendation runner_up verdict contenders",
        key(
            "missing",
            "Rivals of which there is none of this size.",
            kind=dict[str, str],
            value=lambda one: dict(one.missing),
        ),
        "turns limits failures growth",
        key("bill", "What to buy for the recommendation."),
        "claims",
        key("files", "Files that -o wrote, relative to its directory."),
        key("text=str(self)", "The same for people.", kind=str),
    )
    ROWS = "contenders"

    @property
    def recommendation(self) -> Offer:
        """What to wire."""
        return self.contenders[0]

    @property
    def runner_up(self) -> Offer | None:
        """The next that could be wired instead; None where there is none."""
        others = (one for one in self.contenders[1:] if one.refused is None)
        return next(others, None)

    @property
    def bill(self) -> Bill:
        """What to buy for the recommendation."""
        return self.wiring.bill()

    @property
    def ahead(self) -> Offer | None:
        """What would take less time than the recommendation, if it could be recommended; None where nothing would."""
        others = (one for one in self.contenders if one.time < self.recommendation.time and one.refused is not None)
        return min(others, key=lambda one: one.time, default=None)

    @property
    def verdict(self) -> str:
        """What to wire and what a step takes then; and what would take less, and why it is not that."""
        best, other = self.recommendation, self.ahead
        words = f"Wire {best.name}: a step takes {format_time(best.time)}."
        if other is None:
            return words
        return f"{words} {other.name} would take {format_time(other.time)}, but {other.refused}."

    def heading(self) -> str:
        """Return the question."""
        asked = self.request
        return f"{asked.name}: {asked.nodes} nodes of degree {asked.degree}"

    def table(self) -> Table:
        """Return the contenders side by side, those that cannot be recommended below a line."""
        return contenders_table(self)

    def __str__(self) -> str:
        """Return the decision on one screen."""
        return decision_text(self)

    def save(self, directory: str | Path) -> Decision:
        """Write everything that goes to the bench and to the racks to a new directory; return it with the files.

        Raises
        ------
        FileFormatError
            If the directory is there already, or cannot be written.
        """
        return saved(self, as_path(directory))
