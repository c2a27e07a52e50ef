"""Latencies as people give them: of messages, gaps and switches, or what a fabric says of its links."""

from __future__ import annotations

from fractions import Fraction

from topodesign.base.latency import ALPHA, GAP, HOP, Latency
from topodesign.base.units import Quantity, as_time, format_time
from topodesign.fabrics.fabric import OWN_LATENCIES, Fabric


def as_latency(alpha: Quantity | None = None, gap: Quantity | None = None, hop: Quantity | None = None) -> Latency:
    """Return what messages take: text with units or numbers of seconds, or ``fabric`` for alpha; None is the default.

    Where links have latencies of their own those out of switches have that of these, so that a hop is 0 if not given.

    Examples
    --------
    >>> from topodesign.fabrics.latencies import as_latency
    >>> as_latency("5us", gap=0)
    Latency(alpha=Fraction(1, 200000), gap=Fraction(0, 1), hop=Fraction(3, 10000000))
    """
    own = alpha == OWN_LATENCIES
    least = Fraction(0) if own else HOP
    return Latency(
        None if own else ALPHA if alpha is None else as_time(alpha, latency=True),
        GAP if gap is None else as_time(gap, latency=True),
        least if hop is None else as_time(hop, latency=True),
    )


def latency_words(latency: Latency, fabric: Fabric) -> str:
    """Return in words what is for a fabric: gaps and hops only where there are switches."""
    alpha = "the fabric's own latencies" if latency.alpha is None else f"alpha {format_time(latency.alpha)}"
    if not fabric.topology.switches:
        return alpha
    hop = f", hop {format_time(latency.hop)}" if latency.hop else ""
    return f"{alpha}, gap {format_time(latency.gap)}{hop}"
