"""``schedule``: one function for all schedulers, which asks one of them or chooses among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Unpack, cast

from topodesign.base import doors
from topodesign.base.doors import load
from topodesign.base.options import read, takes
from topodesign.collectives import Collective, as_collective
from topodesign.fabrics.places import PlaceLike
from topodesign.plans.plan import Plan
from topodesign.schedulers import SCHEDULERS
from topodesign.schedulers.baselines import BASELINES, FILES
from topodesign.schedulers.choice import make_plan
from topodesign.schedulers.method import Method, Progress, Request
from topodesign.schedulers.options import ScheduleOptions

_ELSEWHERE = {
    "taccl-like": "tacos_ilp:TACCL_LIKE",
    "digits": "dimensions:DIGITS",
    "in-network": "forest:IN_NETWORK",
    "one-shot": "two_level:ONE_SHOT",
}
"""Methods that stand in the file of one like them."""


class _Methods(Mapping[str, Method]):
    """Methods, each imported when it is asked for."""

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
    """Schedule a collective: make the plan that says who sends what to whom and when.

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
        something has failed (``without``), it takes a method that can do without, and a note says which. Of an
        allreduce with a size it takes the plan of the least time for it, also one-shot or through switches that add.
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
    asked, said = as_collective(collective), read(ScheduleOptions, options, "schedule")
    if said["root"] is None:
        said["root"] = asked.root
    if said["traffic"] is not None and method == "auto":
        method = next(one.name for one in METHODS.values() if "traffic" in one.options)
    sized = options.get("size") is not None
    return make_plan(Request(place, asked, sized=sized, progress=progress, **said), method, doors.SCHEDULERS)
