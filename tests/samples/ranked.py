"""Topologies ranked by all-to-all, unless a test asks for something else."""

from __future__ import annotations

from typing import Any

from topodesign import Pareto, pareto


def rank(nodes: int, degree: int, **options: Any) -> Pareto:
    """Return the frontier of pareto by all-to-all, or by the collective or workload that is given."""
    named = {} if options.get("workload") is not None else {"collective": "all-to-all"}
    return pareto(nodes, degree, **(named | options))
