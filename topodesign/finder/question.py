"""Question: size, criterion for ranking, and sources to search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from topodesign.base.cost import Cost, check_size, lower_bounds, moore_distances
from topodesign.base.errors import ParameterError
from topodesign.base.options import read
from topodesign.catalog.lookup import Catalog, CatalogLike, as_catalog
from topodesign.finder.options import FindOptions
from topodesign.pricing.mix import Mix, Share, questions
from topodesign.pricing.workload import Workload, as_workload

MAX_NODES = 2**20  # largest number of nodes that is answered for
MAX_SEARCHED = 2**14  # largest number of nodes that is searched for without a catalog; it takes half a minute
MAX_DEGREE = 64  # largest degree that is searched for


@dataclass(frozen=True)
class Objective:
    """Criterion for ranking: a collective at each size, or a training step.

    * ``columns``: what is timed, the first decides which topology is the fastest.
    * ``collective``: the collective that topologies are ranked by; None for a training step.
    """

    columns: tuple[Mix, ...]
    work: Workload  # latency, sizes and bandwidth
    collective: str | None = "allreduce"

    @classmethod
    def read(cls, collective: str | None = None, workload: Mix | str | Path | None = None, **given: Any) -> Objective:
        """Read the objective from options.

        Parameters
        ----------
        collective
            Collective to rank by; an allreduce if None.
        workload
            What a training step sends, or its file, to rank by instead. A collective or sizes that are given besides
            are timed in further columns.
        **given
            ``alpha``, ``sizes`` and ``bandwidth``.
        """
        work = as_workload(**given)
        plain = questions(collective or "allreduce", None, work.sizes)
        if workload is None:
            return cls(plain, work, collective or "allreduce")
        more = plain if collective is not None or "sizes" in given else ()
        return cls((*questions("allreduce", workload, work.sizes), *more), work, None)

    @property
    def mix(self) -> Mix:
        """Mix that decides which topology is the fastest."""
        return self.columns[0]

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles of the columns of times."""
        if self.collective == "allreduce":
            from topodesign.base.units import format_size  # noqa: PLC0415

            return tuple(map(format_size, self.work.sizes))
        return tuple(one.words if len(one.shares) == 1 else one.name for one in self.columns)

    @property
    def words(self) -> str:
        """Description of the times."""
        match self.collective:
            case "allreduce":
                return "allreduce times; steps and BW factor per phase"
            case None:
                return f"{self.mix.words}; steps and BW factor per phase of allreduce"
        return f"{self.mix.words}; BW factor of {self.collective}"

    @property
    def exchanges(self) -> bool:
        """Whether all-to-all matters."""
        return any(share.collective == "all-to-all" for one in self.columns for share in one.shares)

    def times(self, there: Cost, back: Cost, exchange: Fraction) -> tuple[Fraction, ...]:
        """Return the seconds of each column at given costs."""
        return tuple(get_seconds(one, there, back, exchange, self.work) for one in self.columns)

    def least(self, nodes: int, degree: int, *, duplex: bool) -> tuple[Fraction, ...]:
        """Return lower bounds in seconds for each column."""
        bounds, far = lower_bounds(nodes, degree, duplex=duplex), moore_distances(nodes, degree, duplex=duplex)
        return tuple(get_least_seconds(one, bounds, far, self.work) for one in self.columns)


@dataclass(frozen=True)
class Question:
    """Topology question: N nodes of degree d, criterion, sources and limits.

    * ``catalog``: where to look first; None to search afresh.
    * ``seconds``: of search for more than is known; None for as much as is needed.
    * ``seed``: of the search; None where nothing has to be searched for.
    * ``max_steps``, ``within``: limits of steps, and of the bandwidth factor over (N-1)/N less 1.
    """

    nodes: int
    degree: int
    duplex: bool  # only topologies whose every link has its reverse
    objective: Objective
    catalog: Catalog | None
    seconds: float | None = None
    seed: int | None = None
    max_steps: int | None = None
    within: Fraction | None = None

    @classmethod
    def read(
        cls, nodes: int, degree: int, options: Mapping[str, Any], *, duplex: bool, catalog: CatalogLike
    ) -> Question:
        """Read the question from :class:`~topodesign.finder.options.FindOptions`."""
        said = read(FindOptions, options, "a question")
        return cls(
            nodes,
            degree,
            duplex,
            read_objective(options),
            None if catalog is False else as_catalog(catalog),
            None if said["search"] is None else float(said["search"]),
            said["seed"],
            said["max_steps"],
            said["within"],
        )

    @cached_property
    def bounds(self) -> tuple[Cost, ...]:
        """Lower bounds, at least one of which holds for every topology."""
        return lower_bounds(self.nodes, self.degree, duplex=self.duplex)

    @property
    def least(self) -> tuple[Fraction, ...]:
        """Lower bounds in seconds for each column."""
        return self.objective.least(self.nodes, self.degree, duplex=self.duplex)

    def admits(self, there: Cost, back: Cost) -> bool:
        """Return whether reduce-scatter and allgather costs are within the limits."""
        most, factor = self.max_steps, max(there.bandwidth, back.bandwidth)
        if most is not None and max(there.steps, back.steps) > most:
            return False
        return self.within is None or factor <= (1 + self.within) * Fraction(self.nodes - 1, self.nodes)

    @property
    def searches(self) -> bool:
        """Whether a search was requested."""
        return self.catalog is None or self.seconds is not None or self.seed is not None


def read_objective(options: Mapping[str, Any]) -> Objective:
    """Read the objective from given options."""
    names = ("collective", "workload", "alpha", "sizes", "bandwidth")
    return Objective.read(**{name: options[name] for name in names if name in options})


def get_seconds(mix: Mix, there: Cost, back: Cost, exchange: Fraction, work: Workload) -> Fraction:
    """Return the seconds of a mix of collectives."""
    return sum((_get_share_seconds(share, there, back, exchange, work) for share in mix.shares), Fraction(0))


def get_least_seconds(mix: Mix, bounds: Iterable[Cost], exchange: Fraction, work: Workload) -> Fraction:
    """Return a lower bound in seconds of a mix, one collective at a time."""
    each = [[_get_share_seconds(share, cost, cost, exchange, work) for cost in bounds] for share in mix.shares]
    return sum(map(min, each), Fraction(0))


def _get_share_seconds(share: Share, there: Cost, back: Cost, exchange: Fraction, work: Workload) -> Fraction:
    costs = {
        "reduce-scatter": (there,),
        "allgather": (back,),
        "allreduce": (there, back),
        "all-to-all": (Cost(there.steps, exchange),),
    }[share.collective]
    return share.count * sum((cost.runtime(work.alpha, share.size, work.bandwidth) for cost in costs), Fraction(0))


def check_question(nodes: int, degree: int, *, bidirectional: bool, most: int = MAX_SEARCHED) -> None:
    """Raise ParameterError if no topology of this size can exist.

    The error names the nearest size that works. Sizes that are too large to search are rejected too.
    """
    check_size(nodes, degree)
    if nodes > most:
        raise ParameterError(f"{nodes} nodes are too many to search (at most {most}); evaluate takes larger specs")
    if degree > MAX_DEGREE:
        raise ParameterError(f"degree {degree} is too large (at most {MAX_DEGREE})")
    if bidirectional and degree == 1 and nodes > 2:
        raise ParameterError(
            f"one duplex port each cannot connect {nodes} nodes; nearest sizes (N,d): (2,1), ({nodes},2)"
        )
