"""Time of an allreduce over the number of nodes, beside what people wire today."""

from __future__ import annotations

from fractions import Fraction

from topodesign.base.units import format_bandwidth, format_size, format_time
from topodesign.catalog.known import Known
from topodesign.pricing.workload import Workload
from topodesign.report.charts.chart import Chart, Series


def by_size_chart(known: Known) -> Chart:
    """Return the plot of the fastest allreduce of every size, with bound and baselines.

    Parameters
    ----------
    known
        What :func:`topodesign.known_topologies` returned for a range of sizes; of several sizes of data the first is
        shown.

    References
    ----------
    Efficient Direct-Connect Topologies, figure 9.
    """
    fronts = known.frontiers
    work = fronts[0].workload
    nodes = [front.nodes for front in fronts]
    series = [
        Series(
            "best known", nodes, [front.best.allreduce[0] for front in fronts], texts=[str(f.best.spec) for f in fronts]
        ),
        bound_by_size(known),
    ]
    others: dict[str, list[tuple[int, Fraction]]] = {}
    for front in fronts:
        for one in front.baselines:
            others.setdefault(one.name, []).append((front.nodes, one.allreduce[0]))
    series += [
        Series(name, [at for at, _ in points], [time for _, time in points], role="other")
        for name, points in others.items()
    ]
    return Chart(
        "sizes",
        f"degree {fronts[0].degree}: allreduce of {format_size(work.sizes[0])} over the number of nodes",
        "nodes N",
        "seconds",
        tuple(series),
        y_scale="log",
        note=setting(work),
    )


def bound_by_size(known: Known) -> Series:
    """Return what no topology can beat at each size."""
    nodes = [front.nodes for front in known]
    return Series("lower bound", nodes, [front.workload.allreduce(front.bound)[0] for front in known], role="bound")


def setting(work: Workload) -> str:
    """Return what times are for, in words."""
    return f"alpha {format_time(work.alpha)}, {format_bandwidth(work.bandwidth)} per node"
