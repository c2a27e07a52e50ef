"""Functions ``schedule`` and ``list_schedules`` over all methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Unpack, cast

from topodesign.base import entry_points
from topodesign.base.arguments import as_choice
from topodesign.base.entry_points import load
from topodesign.base.errors import ParameterError
from topodesign.base.options import format_option, read, takes
from topodesign.base.units import Quantity
from topodesign.base.wording import with_article
from topodesign.collectives import Collective, as_collective
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric
from topodesign.fabrics.places import PlaceLike
from topodesign.plans.plan import Plan
from topodesign.schedulers import SCHEDULERS
from topodesign.schedulers.baselines import BASELINES, FILES
from topodesign.schedulers.choice import make_plans
from topodesign.schedulers.method import Method, Progress, Request, sizes_of
from topodesign.schedulers.options import ScheduleOptions
from topodesign.schedulers.schedule_list import ScheduleList

_ELSEWHERE = {
    "tacos-ilp": "exact:TACOS_ILP",
    "digits": "dimensions:DIGITS",
    "in-network": "forest:IN_NETWORK",
    "one-shot": "two_level:ONE_SHOT",
}
"""Methods that stand in the file of one like them."""


class _Methods(Mapping[str, Method]):
    """Mapping of methods, each imported on first use."""

    def __getitem__(self, name: str) -> Method:
        if name not in SCHEDULERS:
            raise KeyError(name)
        if name in BASELINES:
            file = next(file for file, names in FILES.items() if name in names.split())
            return cast("Method", load(f"schedulers.baselines.{file}:METHODS")[name])
        return cast("Method", load(f"schedulers.{_ELSEWHERE.get(name, name.replace('-', '_') + ':METHOD')}"))

    def __iter__(self) -> Iterator[str]:
        return iter(SCHEDULERS)

    def __len__(self) -> int:
        return len(SCHEDULERS)


METHODS = _Methods()
"""Every scheduler of this package by its name, in the order in which ``auto`` asks; those of others come after."""


@takes(ScheduleOptions)
def schedule(
    place: PlaceLike,
    collective: Collective | str = "allreduce",
    *,
    method: str = "auto",
    progress: Progress | None = None,
    **options: Unpack[ScheduleOptions],
) -> Plan:
    """Schedule a collective: plan every send and its time.

    Parameters
    ----------
    place
        A topology or a fabric, the spec of one, a file, or a networkx graph.
    collective
        What; an allreduce is a reduce-scatter followed by an allgather, or over trees what is fastest.
    method
        One of :func:`topodesign.methods`, or ``auto``. That makes rounds for plain topologies, with the fewest steps
        and then the least bandwidth factor of all methods; and trees for fabrics with switches, and for broadcast and
        reduce. Where
        something has failed (``without``), shards differ (``shards``) or nodes start late (``ready``), it takes a
        method that can do this, and a note says which. With a size, or ``alpha="fabric"``, it takes the fastest plan of
        all methods that :func:`topodesign.compare_methods` tries; notes give the times and what was not tried.
    progress
        Called with the share of the work that is done.
    **options
        As :class:`~topodesign.schedulers.options.ScheduleOptions` says.

    Returns
    -------
    Plan
        With its claim, not yet verified. Its notes say what a limit on chunks loses, what other methods offer, and of
        which kind an allreduce over trees is; ``generator`` holds the figures.

    Raises
    ------
    SpecError, FileFormatError, UnitError, TopologyError
        If the place or a quantity cannot be read, or makes no topology or fabric.
    ParameterError
        If an option is not for the method, or out of range.
    InfeasibleError
        If no method makes such a collective, the one that is named has no schedule for this place, or some node cannot
        be reached.

    Examples
    --------
    >>> plan = schedule("circulant(12,2,3)")
    >>> print(plan)
    allreduce of 12 nodes on circulant(12,2,3) in rounds: steps 4, bandwidth 11/6
    >>> schedule("dgx_a100(2)", "broadcast", root="box1/gpu3").claim["k"]
    Fraction(8, 1)
    >>> print(schedule("torus(4,4)", "all-to-all"))
    all-to-all of 16 nodes on torus(4,4) in rounds: steps 4, bandwidth 2
    """
    return schedule_all(place, collective, method=method, progress=progress, **options)[0]


@takes(ScheduleOptions)
def schedule_all(
    place: PlaceLike,
    collective: Collective | str = "allreduce",
    *,
    method: str = "auto",
    progress: Progress | None = None,
    **options: Unpack[ScheduleOptions],
) -> list[Plan]:
    """Return the plan of ``schedule``, then others that may be faster for some size.

    Parameters and errors are those of :func:`schedule`.
    """
    asked, said = as_collective(collective), read(ScheduleOptions, options, "schedule")
    if said["root"] is None:
        said["root"] = asked.root
    if said["traffic"] is not None and method == "auto":
        method = next(one.name for one in METHODS.values() if "traffic" in one.options)
    sized = options.get("size") is not None
    return make_plans(Request(place, asked, sized=sized, progress=progress, **said), method, entry_points.SCHEDULERS)


@takes(ScheduleOptions)
def list_schedules(
    place: PlaceLike,
    collective: Collective | str = "allgather",
    *,
    method: str = "exact",
    sizes: Quantity | Iterable[Quantity] | None = None,
    progress: Progress | None = None,
    **options: Unpack[ScheduleOptions],
) -> ScheduleList:
    """List the Pareto-optimal schedules of a method, each as a plan.

    Parameters
    ----------
    place
        A topology, its spec, a file, or a networkx graph, or of ``exact`` a fabric; without switches.
    collective
        Of one movement; an allreduce is a reduce-scatter and then an allgather, each with a list of its own.
    method
        ``exact``: all chunks, steps and rounds of a small place, with a proof of each. ``pipeline``: trees that carry a
        broadcast, reduce, allgather or reduce-scatter in chunks, one behind the other.
    sizes
        Sizes of the data for which times are reported; ``size`` if None.
    progress
        Called with the share of the choices that are settled.
    **options
        Root, groups, latency and bandwidth, as :func:`topodesign.schedule` takes them. ``chunks`` and ``steps`` are
        limits: of ``exact`` 6, and two more than the fewest; of ``pipeline`` 256 chunks. ``time_limit`` is for all
        searches together: the list reports what they have not settled by then.

    Returns
    -------
    ScheduleList
        With times for the sizes, and ``best(size)``.

    Raises
    ------
    ParameterError, UnitError
        If the collective, its root or a group does not fit, an option is not for the method, or out of range.
    InfeasibleError
        If some node cannot be reached, the steps are too few, or nothing was found in the time.
    TooLargeError
        If there is too much to choose from for the fewest steps and one chunk.
    MissingLibraryError
        If OR-tools is not installed, which ``exact`` needs.

    Examples
    --------
    >>> found = list_schedules("bipartite(2)", chunks=2)
    >>> [(one.chunks, one.steps, str(one.rounds), one.proof) for one in found.schedules]
    [(1, 2, '2', 'bound'), (2, 2, '3', 'bound')]
    >>> found.proven, found.best("1GiB").chunks
    (True, 2)
    >>> found = list_schedules("torus(4,4)", "broadcast", method="pipeline", root=0)
    >>> [(one.steps, str(one.bandwidth)) for one in found.schedules[:3]]
    [(4, '25/3'), (5, '5'), (6, '3')]
    """
    asked, said = as_collective(collective), read(ScheduleOptions, options, "list_schedules")
    known: Method = entry_points.SCHEDULERS[as_choice("method", method, tuple(entry_points.SCHEDULERS))]
    if known.listing is None:
        raise ParameterError(f"--algorithm {method} has no list; use --algorithm exact or pipeline")
    if not asked.like(*known.collectives):
        what = ", ".join(map(str, known.collectives))
        why = "is a reduce-scatter and then an allgather" if len(asked.parts) > 1 else "is none of these"
        raise ParameterError(f"--list of --algorithm {method} is of {what}; {with_article(asked)} {why}")
    said["root"] = asked.root if said["root"] is None else said["root"]
    request = Request(place, asked, progress=progress, **said)
    asked.check_root(request.root)
    if wrong := [name for name in request.list_given() if name not in known.listing.options]:
        raise ParameterError(
            f"{', '.join(map(format_option, wrong))} cannot be combined with --list of --algorithm {method}"
        )
    rate = 8 * NODE_BANDWIDTH if request.bandwidth is None else request.bandwidth
    if isinstance(request.found, Fabric):
        request.found.check_bandwidth(request.bandwidth)
        rate = 8 * request.found.unit * request.found.topology.degree
    asked_sizes = (request.size,) if sizes is None else sizes_of(sizes)
    return known.listing.make(request).timed(request.step_alpha, rate, asked_sizes)
