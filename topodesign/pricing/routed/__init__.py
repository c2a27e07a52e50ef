"""Messages that pass through: who sends to whom in published schemes, over which links, and what that costs.

In a step messages go between any two nodes, each over several links without stopping. It takes alpha, ``hop`` for each
link of the longest way, and what the fullest link carries; loads are counted, message by message, in integers. ``grid``
has tori and ways along their sides, ``schemes`` who sends to whom, with formulas, ``spread`` which blocks a message
carries and the loads. Which is the fastest on a topology: :mod:`topodesign.optima.routed`.
"""
