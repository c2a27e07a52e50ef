"""Plot function for all results: ``plot``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from topodesign.base.arguments import as_choice
from topodesign.base.errors import ParameterError
from topodesign.base.records import Result, SideBySide
from topodesign.base.spec import Spec
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.networks import is_graph
from topodesign.fabrics.places import as_place
from topodesign.finder.pareto import Pareto
from topodesign.finder.survey import Survey
from topodesign.optima.optimum import Optimum
from topodesign.plans.files import load_plan
from topodesign.plans.plan import Plan
from topodesign.plans.time.simulate import Simulation
from topodesign.report.charts.boxes import boxes_drawing, cut_drawing
from topodesign.report.charts.by_size import by_size_chart, winners_chart
from topodesign.report.charts.chart import Chart, Drawing
from topodesign.report.charts.decision import ahead_chart, tradeoff_chart
from topodesign.report.charts.distances import distances_chart
from topodesign.report.charts.links import orbits_drawing
from topodesign.report.charts.structure import structure_drawing
from topodesign.report.charts.timeline import link_use_chart, timeline_chart
from topodesign.report.charts.times import frontier_chart, times_chart
from topodesign.report.design.answer import Decision
from topodesign.report.figures import Picture
from topodesign.topology.topology import Topology


class Plot(NamedTuple):
    """Plot with the types it accepts."""

    of: tuple[type, ...]
    make: Callable[..., Chart | Drawing]


PLOTS: dict[str, Plot] = {
    "frontier": Plot((Pareto,), frontier_chart),
    "times": Plot((Pareto, SideBySide), times_chart),
    "sizes": Plot((Survey,), by_size_chart),
    "winners": Plot((Survey,), winners_chart),
    "structure": Plot((Topology, Fabric), structure_drawing),
    "orbits": Plot((Topology,), orbits_drawing),
    "boxes": Plot((Fabric,), boxes_drawing),
    "distances": Plot((Topology,), distances_chart),
    "timeline": Plot((Plan,), timeline_chart),
    "use": Plot((Plan,), link_use_chart),
    "tradeoff": Plot((Decision,), tradeoff_chart),
    "ahead": Plot((Decision,), ahead_chart),
    "cut": Plot((Optimum,), cut_drawing),
}
"""Every plot by its name; the first one that a value has is its usual one."""
_OPTIONS = {"timeline": {"size", "alpha", "bandwidth"}}  # those that a plot has


def plot(value: Any, kind: str | None = None, **options: Any) -> Picture:
    """Plot a result, a topology, a fabric or a plan.

    Parameters
    ----------
    value
        A result of :func:`topodesign.pareto` (``frontier``, ``times``), of :func:`topodesign.design` (``tradeoff``,
        ``ahead``), of :func:`topodesign.compare` or :func:`topodesign.compare_methods` (``times``), of
        :func:`topodesign.survey` (``sizes``, ``winners``) or of :func:`topodesign.optimum` (``cut``);
        a topology (``structure``, ``orbits``, ``distances``) or fabric (``structure``, ``boxes``), its spec or file,
        or a networkx graph; or a plan (``timeline``, ``use``), its file, or the simulation of one. Other results that
        are about a plan, a topology or a place stand for that.
    kind
        Which of these plots; the usual one of the value if None.
    options
        Of a timeline: ``size``, ``alpha`` and ``bandwidth``.

    Returns
    -------
    Picture
        ``save("a.svg")`` writes it (.svg, .png, .pdf), ``figure()`` is it in matplotlib, ``shown`` are its numbers; a
        notebook shows it.

    Raises
    ------
    ParameterError
        If there is no such plot of the value, or an option is not for it.
    TooLargeError
        If there is too much to tell apart.
    TopodesignError
        Of the other kinds, if a text or file names nothing that can be plotted.

    Examples
    --------
    >>> from topodesign import plot
    >>> picture = plot("circulant(12,2,3)", "distances")
    >>> picture.to_records()[1]
    {'series': 'this topology', 'x': 2, 'y': 7.0}
    """
    what, given = _subject(value, options)
    fits = [name for name, one in PLOTS.items() if isinstance(what, one.of)]
    if not fits:
        raise ParameterError(f"there is no plot of {type(value).__name__}; see the documentation of plot")
    chosen = fits[0] if kind is None else as_choice("plot", kind, list(PLOTS))
    if chosen not in fits:
        raise ParameterError(f"the plot '{chosen}' is not of this; there is {' and '.join(fits)}")
    wrong = set(options) - _OPTIONS.get(chosen, set())
    if wrong:
        raise ParameterError(f"{min(wrong)!r} is not an option of the plot '{chosen}'")
    return Picture(PLOTS[chosen].make(what, **given))


def _subject(value: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the object to plot, and its options."""
    if isinstance(value, Simulation):
        now = value.conditions
        own: dict[str, Any] = {"size": now.size}
        if now.latency is not None and now.latency.alpha is not None:
            own["alpha"] = now.latency.alpha
        if now.bandwidth is not None:
            own["bandwidth"] = now.bandwidth
        return value.plan, {**own, **options}
    if isinstance(value, str | Path) and str(value).endswith(".npz"):
        return load_plan(value), options
    if isinstance(value, str | Path | Spec) or is_graph(value):
        return as_place(value), options
    if isinstance(value, Result) and not any(isinstance(value, one.of) for one in PLOTS.values()):
        parts = (getattr(value, name, None) for name in ("plan", "topology", "place", "spec"))
        about = next((part for part in parts if isinstance(part, Plan | Topology | Fabric | Spec)), value)
        return (as_place(about) if isinstance(about, Spec) else about), options
    return value, options
