"""In which order to repair what is broken, so that the fabric does as much as it can meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from topodesign.base.arguments import as_choice
from topodesign.base.claims import Among, Claim, Of, Proof
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.records import Result, Table
from topodesign.base.units import Quantity, as_time, format_rate
from topodesign.base.wording import counted
from topodesign.optima.forest.bottleneck import optimum
from topodesign.wiring.change.patches import wired_topology
from topodesign.wiring.failures.impact import KINDS, Failure, FailureKind, linked_part, lost_and_left
from topodesign.wiring.failures.report import failure_of
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.plan import WiringPlan

MOST_PROVEN = 8  # failures up to which all orders are compared, by what is left after each set of repairs
MOST = 32  # failures that are put in an order at all


@dataclass(frozen=True)
class Served(Declared):
    """What the links that work can do.

    * ``allreduce``: best algorithmic bandwidth of an allreduce among them by any schedule, in bytes per second; 0 if
      some of them cannot reach some other.
    """

    hosts: int  # hosts that have links in and out
    allreduce: Fraction

    KEYS = (
        "hosts allreduce",
        key("together", "That of each host, all hosts together, in bytes per second: what orders are compared by."),
    )
    SHARED = "served"

    @property
    def together(self) -> Fraction:
        """Bytes that all hosts together put in per second."""
        return self.hosts * self.allreduce


@dataclass(frozen=True)
class RepairStep(Declared):
    """A repair, and what is then."""

    failure: Failure  # what is repaired
    takes: Fraction  # seconds that it takes; 1 for each where nothing was said
    after: Served  # what the links that work then can do

    KEYS = "failure takes_s=float(takes) after"
    ROW = (
        key("repair", kind=str, value=lambda one: str(one.failure)),
        "takes_s=takes hosts=after.hosts allreduce=after.allreduce together=after.together",
    )


@dataclass(frozen=True)
class Order(Declared):
    """An order of repairs.

    * ``mean``: bytes per second of all hosts together from the first repair's begin to the last one's end, on average.
    """

    steps: tuple[RepairStep, ...]  # the repairs, one after the other
    mean: Fraction

    KEYS = "mean steps"
    SHARED = "repair_order"


@dataclass(frozen=True, repr=False)
class RepairOrder(Result):
    """In which order to repair what is broken.

    * ``best``: an order with the highest mean of all, which is proven; null where there are too many failures to
      compare all orders.
    """

    now: Served  # what the links can do before any repair
    greedy: Order  # the order that always takes the repair that gains most per time
    best: Order | None
    worst: Fraction | None  # the mean of the worst of all orders, in bytes per second; null as above

    KEYS = "now best greedy worst claims"
    ROWS = "steps"

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Whether the fabric does more in another order."""
        proof = Proof.NONE if self.best is None else Proof.SEARCH
        return (Claim(Of.RATE, self.order.mean, Among.ORDERS, proof),)

    @property
    def order(self) -> Order:
        """The best order, or the greedy one where none is proven."""
        return self.best or self.greedy

    @property
    def steps(self) -> tuple[RepairStep, ...]:
        """The repairs in that order."""
        return self.order.steps

    def heading(self) -> str:
        """Return which order it is."""
        greedy = ", each the one that gains most per time" if self.best is None else ""
        return f"{counted(len(self.steps), 'repair')}{greedy}; {self.claims[0]}"

    def table(self) -> Table:
        """Return a row for what is, and one for every repair in the order proposed."""
        timed = len({step.takes for step in self.steps}) > 1
        place = {step.failure: str(number) for number, step in enumerate(self.greedy.steps, 1)}
        told = self.best is not None and self.best != self.greedy
        rows = [("none yet", *([""] * timed), *_cells(self.now), *([""] * told))]
        for step in self.steps:
            takes, other = [f"{float(step.takes / 60):g}min"] * timed, [place[step.failure]] * told
            rows.append((str(step.failure), *takes, *_cells(step.after), *other))
        columns = ("repair", *["takes"] * timed, "hosts", "allreduce", "all hosts", *["greedy"] * told)
        means = f"all hosts on average meanwhile: {format_rate(self.order.mean)}"
        if self.worst is not None:
            means += f"; greedy {format_rate(self.greedy.mean)}, worst order {format_rate(self.worst)}"
        return Table(self.heading(), columns, tuple(rows), words=frozenset({"repair"}), footnote=means)


def repair_order(
    plan: WiringLike,
    failures: Sequence[Failure] = (),
    *,
    hosts: Iterable[str] = (),
    ports: Iterable[str] = (),
    cables: Iterable[str] = (),
    takes: Mapping[FailureKind, Quantity] | None = None,
    progress: Callable[[float], None] | None = None,
) -> RepairOrder:
    """Say in which order to repair what is broken, one after the other.

    Orders are compared by what all hosts together put into allreduces meanwhile, with the best schedule for what works
    at each time. Up to eight failures the best of all orders is found: what a set of repairs makes possible does not
    depend on their order, so the best order of a set is the best of those that end with one of its repairs. For more,
    the order is greedy, and says so.

    Parameters
    ----------
    plan
        A plan, or the path of its file.
    failures, hosts, ports, cables
        What is broken: failures, and names as in :func:`failure_impact`. At most 32.
    takes
        How long a repair takes, by kind (``host``, ``port``, ``panel port``, ``cable``), as text or in seconds; where
        it is given, every kind that is broken needs one. Without it all take as long.
    progress
        Told the share that is done.

    Raises
    ------
    ParameterError
        If nothing is broken, something is said twice, the plan does not have it, or a time is missing.
    FileFormatError
        If the plan cannot be read.

    Examples
    --------
    >>> from topodesign import plain_inventory, wire
    >>> plan = wire("circulant(12,2,3)", plain_inventory(12, 4))
    >>> found = repair_order(plan, cables=["C01", "C05"], hosts=["h2"])
    >>> str(found.steps[0].failure)
    'host h2'
    """
    wiring = as_wiring(plan)
    named = [
        failure_of(wiring, **{kind: name})
        for kind, names in (("host", hosts), ("port", ports), ("cable", cables))
        for name in ([names] if isinstance(names, str) else names)
    ]
    broken = [*failures, *(one for one in named if one is not None)]
    if not 0 < len(broken) <= MOST:
        raise ParameterError(f"{len(broken)} things are broken; name from 1 to {MOST}: hosts, ports, cables")
    if not all(isinstance(one, Failure) for one in broken):
        raise ParameterError("failures: give Failure objects, or names as hosts, ports and cables")
    twice = next((one for one in broken if broken.count(one) > 1), None)
    if twice is not None:
        raise ParameterError(f"{twice} is broken twice; name it once")
    return _Orders(wiring, broken, _times(broken, takes), progress or (lambda _share: None)).found()


def _times(broken: Sequence[Failure], takes: Mapping[FailureKind, Quantity] | None) -> list[Fraction]:
    if not takes:
        return [Fraction(1)] * len(broken)
    known = {as_choice("kind", kind, KINDS): as_time(time) for kind, time in takes.items()}
    missing = next((one.kind for one in broken if not known.get(one.kind)), None)
    if missing is not None:
        raise ParameterError(f"say how long the repair of a {missing} takes, and more than no time")
    return [known[one.kind] for one in broken]


def served(plan: WiringPlan, connects: Iterable[CrossConnect]) -> Served:
    """Return what these patches of a plan can do."""
    topology, nodes = linked_part(wired_topology(plan.hosts, connects))
    if topology is None:
        return Served(len(nodes), Fraction(0))
    try:
        inverse = sum(optimum(way).inverse_rate for way in (topology, topology.transpose()))
    except InfeasibleError:
        return Served(len(nodes), Fraction(0))
    return Served(len(nodes), topology.nodes * plan.speed / (8 * inverse))


class _Orders:
    """Orders of repairs; a set of repairs is a number with a bit for each that is done."""

    def __init__(
        self, plan: WiringPlan, broken: Sequence[Failure], times: list[Fraction], advance: Callable[[float], None]
    ) -> None:
        self.broken, self.times, self.advance = broken, times, advance
        self.lost = [{connect.cable for connect in lost_and_left(plan, one)[0]} for one in broken]
        self.proven = len(broken) <= MOST_PROVEN
        self.all = len(broken) * (len(broken) + 1) // 2 + 1 if not self.proven else 2 ** len(broken)
        self.known: dict[int, Served] = {}
        self.served = cache(lambda dark: served(plan, [c for c in plan.connects if c.cable not in dark]))

    def found(self) -> RepairOrder:
        """Return the best order, if they are few, and the greedy one."""
        greedy = self._order(self._greedy())
        if not self.proven:
            return RepairOrder(self._after(0), greedy, None, None)
        best, worst = self._order(self._extreme(1)), self._order(self._extreme(-1))
        return RepairOrder(self._after(0), greedy, greedy if greedy.mean == best.mean else best, worst.mean)

    def _after(self, done: int) -> Served:
        """Return what is possible when these repairs are done."""
        if done not in self.known:
            dark = frozenset[str]().union(*(lost for one, lost in enumerate(self.lost) if not done >> one & 1))
            self.known[done] = self.served(dark)
            self.advance(min(1.0, len(self.known) / self.all))
        return self.known[done]

    def _greedy(self) -> list[int]:
        order: list[int] = []
        done = 0
        while len(order) < len(self.broken):
            base = self._after(done).together
            gain = {
                one: (self._after(done | 1 << one).together - base) / self.times[one]
                for one in range(len(self.broken))
                if not done >> one & 1
            }
            order.append(max(gain, key=gain.__getitem__))  # the first named of those that gain as much
            done |= 1 << order[-1]
        return order

    def _extreme(self, sign: int) -> list[int]:
        """Return the order with the greatest mean, or with sign -1 the least (Held and Karp's recursion over sets)."""
        whole = 2 ** len(self.broken) - 1
        area, last = [Fraction(0)], [0]  # of the best order of every set, and the repair that it ends with
        for done in range(1, whole + 1):
            ways = {}
            for one in range(len(self.broken)):
                if done >> one & 1:
                    rest = done & ~(1 << one)
                    ways[one] = area[rest] + self.times[one] * self._after(rest).together
            last.append(max(ways, key=lambda one: sign * ways[one]))
            area.append(ways[last[-1]])
        order = []
        while whole:
            order.append(last[whole])
            whole &= ~(1 << order[-1])
        return order[::-1]

    def _order(self, order: Sequence[int]) -> Order:
        done, area, steps = 0, Fraction(0), []
        for one in order:
            area += self._after(done).together * self.times[one]
            done |= 1 << one
            steps.append(RepairStep(self.broken[one], self.times[one], self._after(done)))
        return Order(tuple(steps), area / sum(self.times))


def _cells(served: Served) -> tuple[str, str, str]:
    return str(served.hosts), format_rate(served.allreduce), format_rate(served.together)
