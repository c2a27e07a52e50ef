"""Messages that pass through: who sends to whom in published schemes, over which links, and what that costs.

In a step messages go between any two nodes, each over several links without stopping. It takes alpha, ``hop`` for each
link of the longest way, and what the fullest link carries; loads are counted, message by message, in integers.

* :mod:`~topodesign.pricing.routed.grid`: tori, and ways along their sides.
* :mod:`~topodesign.pricing.routed.schemes`: Swing, ternary, recursive doubling, Bruck, torus bucket, with formulas.
* :mod:`~topodesign.pricing.routed.spread`: which blocks each message carries, and the loads that follow.

Which is the fastest on a topology, beside schedules and trees: :mod:`topodesign.optima.routed`.
"""
