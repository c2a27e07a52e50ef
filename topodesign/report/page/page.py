"""``report_page``: any result as one page that opens offline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topodesign.base.arguments import as_choice, as_several
from topodesign.base.atomic import write_whole
from topodesign.base.declared import key
from topodesign.base.errors import ParameterError
from topodesign.base.records import Result
from topodesign.base.spec import Spec
from topodesign.base.units import Quantity
from topodesign.base.version import __version__
from topodesign.collectives import Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.places import PlaceLike, as_place
from topodesign.finder.pareto import Pareto
from topodesign.finder.question import Objective
from topodesign.optima.optimum import Optimum, optimum
from topodesign.plans.files import load_plan
from topodesign.plans.plan import Plan
from topodesign.pricing.mix import PRICED
from topodesign.pricing.workload import as_workload
from topodesign.report.design.answer import Decision
from topodesign.report.page.answer import answer_document
from topodesign.report.page.decision import decision_document
from topodesign.report.page.details import compare_with
from topodesign.report.page.fabric import fabric_document, plan_document
from topodesign.report.page.markup import markup
from topodesign.report.page.parts import Document
from topodesign.report.page.topology import topology_document
from topodesign.schedulers.evaluation import evaluate_topology
from topodesign.topology.topology import Topology

PROGRAM = f"topodesign {__version__}"
_ENDINGS = frozenset(("", ".html", ".htm"))


@dataclass(frozen=True, repr=False)
class Page(Result):
    """A report."""

    document: Document  # all that it tells

    KEYS = (key("program", "Name and version of the program.", kind=str, value=lambda _: PROGRAM), "*document")

    def heading(self) -> str:
        """Return what it is about."""
        return self.document.title

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row per section: its choice and its title."""
        own = [("", section) for section in self.document.sections]
        own += [(choice.name, section) for choice in self.document.choices for section in choice.sections]
        return [{"about": name, "section": section.title, "parts": len(section.parts)} for name, section in own]

    def html(self) -> str:
        """Return the page as one HTML text, the same for the same page."""
        return markup(self.document, PROGRAM)

    def save(self, path: str | Path) -> None:
        """Write the page as a file."""
        check_page(Path(path))
        write_whole(Path(path), self.html())


def check_page(path: Path) -> None:
    """Raise ParameterError if a report cannot have this file ending."""
    if path.suffix.lower() not in _ENDINGS:
        raise ParameterError(f"a report is written as .html, unlike '{path}'")


def report_page(
    what: Pareto | Decision | Optimum | Plan | PlaceLike,
    *,
    against: Plan | PlaceLike | Sequence[Plan | PlaceLike] = (),
    collective: Collective | str | None = None,
    alpha: Quantity = "10us",
    sizes: Quantity | Sequence[Quantity] = "1MiB",
    bandwidth: Quantity = "100Gbps",
) -> Page:
    """Return a report page: verdict, figures with proofs, plots and commands.

    Parameters
    ----------
    what
        What :func:`topodesign.pareto`, :func:`topodesign.design` or :func:`topodesign.optimum`
        returned; a topology or fabric, its spec or file;
        or a plan or its file.
    against
        For a topology or an answer of ``pareto``: designs to put beside it, or its fastest topology, as
        :func:`topodesign.compare` takes them.
    collective
        For a fabric: whose bottleneck to tell; an allgather if None. For a topology: whose time to tell first.
    alpha, sizes, bandwidth
        Latency of a step, sizes of data, and bandwidth of a node, for what does not say its own: answers of ``pareto``
        do, and fabrics have bandwidths.

    Returns
    -------
    Page
        ``save("answer.html")`` writes it, ``html()`` is its text, ``record()`` all that it holds.

    Raises
    ------
    ParameterError
        If there is no report on such a thing, or ``against`` or ``collective`` is not for it.
    TopodesignError
        Of the other kinds, if a text or file names nothing, or as of what is reported on.

    Examples
    --------
    >>> from topodesign import pareto, report_page
    >>> page = report_page(pareto(200, 6))
    >>> page
    <Page: 200 nodes of degree 6>
    >>> page.html().startswith("<!DOCTYPE html>")
    True
    """
    work = as_workload(alpha, sizes, bandwidth)
    one = isinstance(against, str | Plan | Topology | Fabric | Path | Spec)
    others = [against] if one else as_several("against", against)
    subject, name = (what, "") if isinstance(what, Pareto | Decision | Optimum) else _subject(what)
    if collective is not None and not isinstance(subject, Fabric | Topology):
        raise ParameterError("--collective is for a topology or a fabric; plans and answers of pareto have their own")
    if others and not isinstance(subject, Pareto | Topology):
        raise ParameterError("--against is for a topology and an answer of pareto; 'topodesign compare' takes any")
    if isinstance(subject, Pareto):
        near = compare_with(subject.best, others, subject.question.objective) if others else None
        return Page(answer_document(subject, near))
    if isinstance(subject, Decision):
        return Page(decision_document(subject))
    if isinstance(subject, Plan):
        return Page(plan_document(subject, work, name))
    if isinstance(subject, Fabric):
        subject = optimum(subject, collective or "allgather")
    if isinstance(subject, Optimum):
        return Page(fabric_document(subject, work, name or subject.fabric.name))
    asked = None if collective is None else as_choice("collective", str(collective), PRICED)
    objective = Objective.read(asked, alpha=alpha, sizes=sizes, bandwidth=bandwidth)
    compared = compare_with(subject, others, objective) if others else None
    found = evaluate_topology(subject, alpha=alpha, sizes=sizes, bandwidth=bandwidth)
    return Page(topology_document(found, name, objective, compared))


def _subject(what: Plan | PlaceLike) -> tuple[Plan | Topology | Fabric, str]:
    """Return what a value stands for, and what commands call it."""
    if isinstance(what, Plan):
        return what, "plan.npz"
    if isinstance(what, str | Path) and str(what).endswith(".npz"):
        return load_plan(what), _printable(str(what))
    place = as_place(what)
    if isinstance(what, str | Path | Spec):
        return place, _printable(str(what))
    if isinstance(place, Fabric):
        return place, place.name
    return place, "links.json" if place.spec is None else str(place.spec)


def _printable(name: str) -> str:
    """Return the printable name of a file, which may hold invalid bytes."""
    return name.encode(errors="backslashreplace").decode()
