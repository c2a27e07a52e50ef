"""Topologies that keep ports of each node free, by self-loops there.

Where the number of ports N*d is odd and cables are duplex one port stays free anyway, and its node is reached by d - 1
links. So N nodes of degree d - 1, of which there are symmetric ones, can have the least possible bandwidth factor, too.
"""

from __future__ import annotations

from dataclasses import replace

from topodesign.base.cost import Cost, spare_factor
from topodesign.base.spec import Spec, parse
from topodesign.catalog.rows import VERSION, Row, describe_origin

_LOOP = Spec("successors", (1, 0))
"""A node with a self-loop: a product with it is how specs had a free port before there was ``spare``."""


def with_idle_ports(spec: Spec, ports: int = 1) -> Spec:
    """Return the spec with more free ports at each node.

    A transpose stays outermost.
    """
    match spec:
        case Spec("transpose", (inner,)) if isinstance(inner, Spec):
            return Spec("transpose", (with_idle_ports(inner, ports),))
        case Spec("spare", (inner, *before)):
            return Spec("spare", (inner, ports + (int(str(before[0])) if before else 1)))
        case _:
            return Spec("spare", (spec, ports))


def has_idle_ports(spec: Spec) -> bool:
    """Return whether a spec comes from :func:`with_idle_ports`, old or new."""
    if spec.name == "transpose":
        return any(has_idle_ports(inner) for inner in spec.args if isinstance(inner, Spec))
    return spec.name == "spare" or (spec.name == "product" and spec.args[-1] == _LOOP)


def idle_row(row: Row) -> Row:
    """Return the row with one free port more: the same links and schedules.

    So the price is that of the row, with y at a larger degree.
    """
    spec, factor = with_idle_ports(parse(row.spec)), spare_factor(row.degree)
    return replace(
        row,
        degree=row.degree + 1,
        cost=Cost(row.cost.steps, row.cost.bandwidth * factor),
        allgather=Cost(row.cost.steps, row.allgather.bandwidth * factor),
        found=describe_origin(spec),
        version=row.version if row.deferred else VERSION,
        spec=str(spec),
        all_to_all=None,
        name=None,
    )
