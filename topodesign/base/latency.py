"""The time of a message beside its bytes.

One model for direct links, trees, timed sends and switches.

A message from node to node takes ``alpha`` and, for each switch that it passes, ``hop``; a port that starts several
messages in a step pays a ``gap`` between one and the next. So a step in which the busiest port starts k messages, the
farthest through s switches, takes ``alpha + (k - 1) gap + s hop`` beside its bytes. On links from node to node that is
the alpha of the papers, as a port starts one message a step: all that a link carries in a step is one message.

In the terms of LogGP (Alexandrov, Ionescu, Schauser and Scheiman 1995) alpha is the latency of a link and the overhead
of a start, L + 2o, gap is g, and the bytes are G.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from topodesign.base.declared import Declared

ALPHA = Fraction(1, 10**5)  # seconds of latency of a message by default: what the papers' figures are for
GAP = Fraction(2, 10**7)
"""Seconds between the starts of two messages at one port by default: five million messages a second, as
reported of one queue pair of RDMA hardware (3.7 to 7.5 million in linux-rdma/perftest issues 65 and 273)."""
HOP = Fraction(3, 10**7)
"""Seconds in a switch by default: between the 0.15 us that makers of InfiniBand switches state and the 0.5
us and more of Ethernet ones."""


@dataclass(frozen=True, slots=True)
class Latency(Declared):
    """What messages take beside their bytes.

    * ``alpha``: seconds of a message from node to node; None for the latencies that a fabric says of its links, of
      which a message takes the sum of those that it goes over, switches included.
    """

    alpha: Fraction | None = ALPHA
    gap: Fraction = GAP  # seconds between the starts of two messages at one port
    hop: Fraction = HOP  # seconds in a switch; 0 where links have latencies of their own

    KEYS = "alpha_s=float(alpha) gap_s=float(gap) hop_s=float(hop)"

    def of_step(self, starts: int, switches: int) -> Fraction:
        """Return the latency of a step in seconds.

        A port starts the given number of messages, which pass the given number of switches.
        """
        return (self.alpha or Fraction(0)) + max(starts - 1, 0) * self.gap + switches * self.hop


USUAL = Latency()  # what is for all that says nothing else
