"""How commands tell what a fabric can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fractions import Fraction

    from topodesign.wiring.failures.resilience import Figures

_MOST_NODES = 512
"""Nodes up to which the throughput is found unasked."""

throughput_option = click.option(
    "--throughput/--no-throughput",
    default=None,
    help=f"Tell connectivity and the best throughput of any schedule.  [default: up to {_MOST_NODES} nodes]",
)


def tells_throughput(asked: bool | None, nodes: int) -> bool:
    """Return whether to tell the throughput, which takes long on large fabrics."""
    return nodes <= _MOST_NODES if asked is None else asked


def figures_in_words(figures: Figures) -> str:
    """Return links, connectivity and throughput in a line."""
    if figures.allreduce is None:
        return f"{figures.links} links, not connected"
    return (
        f"{figures.links} links, connected until {figures.connectivity} are lost, "
        f"allreduce {_speed(figures.allreduce)} at best"
    )


def figures_document(figures: Figures | None) -> dict[str, Any] | None:
    """Return the same for JSON, with rates in bytes per second."""
    if figures is None:
        return None
    return {
        "links": figures.links,
        "connectivity": figures.connectivity,
        "allgather": None if figures.allgather is None else str(figures.allgather),
        "allreduce": None if figures.allreduce is None else str(figures.allreduce),
    }


def _speed(rate: Fraction) -> str:
    return f"{float(rate / 10**9):.3f} GB/s"
