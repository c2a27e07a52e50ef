"""Rows with the prices of deferred schedules, which cost less than SPFF on most topologies without much symmetry.

A row of the catalog has one price for a reduce-scatter and one for an allgather. A deferred row is the same topology,
or its transpose, as a row by SPFF, with the cheaper of the two schedules for each collective.
"""

from __future__ import annotations

from topodesign.base.cost import Basis, Cost
from topodesign.base.spec import parse
from topodesign.catalog.rows import VERSION, Row
from topodesign.pricing.evaluation import cheaper
from topodesign.search.candidate import transpose_spec


def deferred_row(row: Row, there: Cost, back: Cost) -> Row | None:
    """Return a row with deferred schedules where these take less bandwidth; None if they do in neither collective."""
    both = cheaper(row.cost, there), cheaper(row.allgather, back)
    if both == (row.cost, row.allgather) or both[0].steps != both[1].steps:
        return None
    spec = parse(row.spec)
    if both[1].bandwidth > both[0].bandwidth:
        both, spec = (both[1], both[0]), transpose_spec(spec)
    return Row(row.nodes, row.degree, *both, row.duplex, row.found, Basis.DEFERRED, VERSION, str(spec))
