"""Collective schedulers, one module per algorithm behind one interface.

To add one, write a new file whose ``METHOD`` is a :class:`~topodesign.schedulers.method.Method`: its name, the options
that it understands, the collectives that it makes, and a function that takes a
:class:`~topodesign.schedulers.method.Request` and returns plans, or none where it does not apply. Then list the file's
name in ``SCHEDULERS`` below with a few words on what it does. The commands offer it from there, and ``auto`` asks it
unless it says otherwise. The algorithms that others are compared with are in the folder ``baselines``, listed there.
"""

from topodesign.schedulers.baselines import BASELINES

SCHEDULERS = {
    "spff": "over shortest paths, shards split so that links are evenly full (SPFF)",
    "deferred": "over shortest paths, what nobody waits for when links have room",
    "stored": "found by a search and shipped",
    "lift": "lifted from the bases of an expansion",
    "dimensions": "all-to-all dimension by dimension",
    "digits": "all-to-all digit by digit",
    "peel": "the best flow through time (all-to-all, scatter, gather)",
    "pipeline": "trees in rounds, from few steps to little bandwidth, for --size",
    "forest": "spanning trees, which auto takes for fabrics with switches, broadcast and reduce",
    "in-network": "trees through switches that copy and add (NVLS, SHARP)",
    "one-shot": "an allreduce in which all send all they have, for little data; auto takes it for a small --size",
    "two-level": "an allreduce that boxes add up inside, with one exchange between them, for little data; auto takes "
    "it if --size is given",
    "fluid": "paths of an exact flow, which auto takes for all-to-all, scatter and gather on fabrics, and trees of "
    "the best steady flow",
    "boxes": "schedules of the graph of boxes lifted to what is in them, timed sends for --size",
    "tacos": "timed sends matched to links one after the other",
    "tacos-ilp": "the timed sends of exact, by the name of the integer program of TACOS",
    "taccl-like": "timed sends over quickest ways, crowded as they may be (TACCL-like)",
    "themis": "chunks through the dimensions of a product, in orders that keep all busy (Themis)",
    "exact": "a search through all plans, for few nodes",
    **BASELINES,
}
"""What there is to choose from, in the order in which ``auto`` asks; shown by help texts, so without any import."""

ROUNDS = ("spff", "deferred", "stored", "lift", "dimensions", "digits", "peel")
"""Those that make rounds and that ``auto`` asks: for a plain topology no other is imported."""
