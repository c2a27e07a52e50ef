"""How commands tell what a fabric can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fractions import Fraction

    from topodesign.wiring.figures import Figures


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
