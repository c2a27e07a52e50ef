"""``schedule``: one function for all schedulers, which asks one of them or chooses among them."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Literal

from topodesign.base.arguments import as_integer, as_seed
from topodesign.base.errors import ParameterError
from topodesign.base.units import Quantity, as_bandwidth, as_size, as_time
from topodesign.collectives import Collective, as_collective
from topodesign.fabrics.fabric import OWN_LATENCIES
from topodesign.fabrics.groups import Groups, Placement
from topodesign.fabrics.node_values import Ready, Shards
from topodesign.fabrics.part import Others, Some
from topodesign.fabrics.places import PlaceLike
from topodesign.fabrics.traffic import Traffic
from topodesign.plans.plan import Plan
from topodesign.schedulers import SCHEDULERS
from topodesign.schedulers.baselines import BASELINES
from topodesign.schedulers.baselines.mpi import METHODS as MPI
from topodesign.schedulers.choice import make_plan
from topodesign.schedulers.method import Method, Progress, Request
from topodesign.topology.link_table import LinkTable

METHODS: dict[str, Method] = {
    name: MPI.get(name)
    or importlib.import_module(
        f"topodesign.schedulers.{'baselines.' if name in BASELINES else ''}{name.replace('-', '_')}"
    ).METHOD
    for name in SCHEDULERS
}
"""Every scheduler by its name, in the order in which ``auto`` asks."""
MOST_TRIES = 10**6
MOST_JOBS = 1024


def schedule(
    place: PlaceLike,
    collective: Collective | str = "allreduce",
    *,
    method: str = "auto",
    chunks: int | Literal["auto"] | None = None,
    steps: int | None = None,
    root: str | int | None = None,
    fixed_k: int | None = None,
    shards: Shards | None = None,
    only: Some = (),
    others: Others = "vanish",
    group: Groups = (),
    placement: Placement | None = None,
    without: Some = (),
    traffic: Traffic | Iterable[Traffic] | None = None,
    link_table: LinkTable | str | Path | None = None,
    size: Quantity = "1MiB",
    alpha: Quantity | None = None,
    bandwidth: Quantity | None = None,
    overlap: bool = False,
    tick: Quantity | None = None,
    window: int | None = None,
    unwind: str | int | None = None,
    ready: Ready | None = None,
    seed: int | None = None,
    symmetric: bool | None = None,
    tries: int | None = None,
    time_limit: Quantity | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Schedule a collective: make the plan that says who sends what to whom and when.

    Parameters
    ----------
    place
        A topology or a fabric, the spec of one, a file, or a networkx graph.
    collective
        What; an allreduce is a reduce-scatter followed by an allgather, or over trees what is fastest.
    method
        One of ``METHODS``, or ``auto``. That makes rounds for plain topologies, with the fewest steps and then the
        least bandwidth factor of all methods; and trees for fabrics with switches, and for broadcast and reduce. Where
        something has failed (``without``), it takes a method that can do without, and a note says which.
    chunks
        Most units per shard, for ``spff`` and ``peel``; with unequal links their exact splits are rounded to it.
        For timed sends so many, or ``auto``: as many as make the plan fastest, of 1, 2, 4 and so on.
    steps
        Communication steps of the plan, for ``peel`` and ``exact``; as few as there can be if None.
    root
        Name or number of the node of a collective that has one; of several groups one in each, or ``first``.
    fixed_k
        Number of trees per root, for ``forest``; as few as reach the optimum if None.
    shards
        Relative shard sizes, for ``forest``: text such as ``box0/*=2``, numbers, a mapping, or a .csv file.
    only, others
        Who takes part (``box0/*``, ``0,1,2`` or numbers of nodes), and whether the others ``vanish`` or ``forward``.
    group, placement
        Groups that do it at the same time, each for itself: ``4x8:0`` for equal groups along an axis of an array of
        ranks, names or patterns for each group, a .csv file, or lists of nodes; and on which nodes the ranks of such an
        array are. See :func:`topodesign.fabrics.groups.as_groups`.
    without
        What has failed: ``A-B`` for a link, ``A>B`` for one direction, or a name.
    traffic
        Several collectives at the same time, in timed sends, in place of the one collective: text such as
        ``0,1,2,3=allgather@64MiB``, ``4x4:0=all-to-all@1MiB+20us`` (from 20 us on) or ``*=broadcast:2``. See
        :mod:`topodesign.fabrics.traffic`.
    link_table, size
        Latency and bandwidth of links that are not alike, and the amount of data for which ``spff`` is to be fastest on
        them; timed sends are for this amount on any links.
    alpha, bandwidth
        Of links that the table does not name: latency (10 us if None; ``fabric`` for what a fabric says of each), and
        the bandwidth of all links of a node
        (100 Gbps if None; fabrics have their own). For methods that make timed sends.
    overlap
        Of timed sends: whether a link is free for the next one as soon as it has transmitted, the latency running on.
    tick
        Of timed sends: length of a step of the time-expanded network, to which times are rounded up; None for exact
        times.
    window
        Steps of each program, for ``tacos-ilp``; without it programs are of the whole time.
    unwind
        Of timed sends on fabrics: links in place of switches, ``all``, so many out of each neighbour, or ``ring`` (both
        ways); None for sends through switches as they are, one chunk at a time at every port.
    ready
        Of timed sends: when nodes are ready, text such as ``3=20us,box1/*=5us``, times for the nodes in their order, a
        mapping, or a .csv file.
    seed, tries
        Of what is drawn by chance: a number that settles all of it, and how many such draws the best is taken of.
    symmetric
        Of timed sends: whether those of one node of every orbit are made, and a group that keeps all links copies them
        to all others; None for where that is known to be the best there is, or better than what is made without.
    time_limit
        Seconds after which a search ends with the best that it has: of work
        (:class:`topodesign.base.deadline.Stopwatch`), but of solvers of others by the clock on the wall.
    jobs
        Processes that work at the same time; the plan is the same whatever their number.
    progress
        Called with the share of the work that is done.

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
    asked, auto = as_collective(collective), isinstance(chunks, str) and chunks == "auto"
    request = Request(
        place,
        asked,
        chunks=None if auto or chunks is None else as_integer("chunks", chunks, 1),
        auto_chunks=auto,
        steps=None if steps is None else as_integer("steps", steps, 0),
        root=asked.root if root is None else root,
        fixed_k=None if fixed_k is None else as_integer("fixed_k", fixed_k, 0),
        shards=shards,
        only=only,
        others=others,
        group=group,
        placement=placement,
        without=without,
        traffic=traffic,
        link_table=link_table,
        size=as_size(size),
        alpha=None if alpha is None else OWN_LATENCIES if alpha == OWN_LATENCIES else as_time(alpha, latency=True),
        bandwidth=None if bandwidth is None else as_bandwidth(bandwidth),
        overlap=bool(overlap),
        tick=None if tick is None else _above_zero("tick", as_time(tick)),
        window=None if window is None else as_integer("window", window, 1),
        unwind=None if unwind is None else str(unwind),
        ready=ready,
        seed=None if seed is None else as_seed(seed),
        symmetric=None if symmetric is None else bool(symmetric),
        tries=None if tries is None else as_integer("tries", tries, 1, MOST_TRIES),
        time_limit=None if time_limit is None else _above_zero("time_limit", as_time(time_limit)),
        jobs=None if jobs is None else as_integer("jobs", jobs, 1, MOST_JOBS),
        progress=progress,
    )
    if traffic is not None and method == "auto":
        method = next(one.name for one in METHODS.values() if "traffic" in one.options)
    return make_plan(request, method, METHODS)


def _above_zero(name: str, seconds: Fraction) -> Fraction:
    if not seconds:
        raise ParameterError(f"{name} must be above zero")
    return seconds
