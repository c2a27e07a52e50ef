"""Baseline algorithms of collective libraries, as plans on available links.

Each is written down as it was published, between ranks that may send to any other, with the formula of its cost where
every message has a link of its own: those of MPI libraries in ``mpi``, others over ``rings`` and ``trees``, and those
for tori in ``passing``. On all other topologies messages between nodes that are not neighbours go over shortest paths,
balanced over the links (``messages``), and wait at nodes on the way, but for those of ``passing``, which pass through:
so a plan is one that can run, with the congestion that follows. ``auto`` asks none of them.

What all have in common is in ``baseline``. To add one, copy ``multitree`` of ``trees.py`` and list it in ``BASELINES``
and ``FILES``.
"""

BASELINES = {
    "ring": "rings without a common link",
    "direct": "all messages at once",
    "spread-out": "messages one after another over each link",
    "pairwise": "pairwise exchange",
    "linear": "one message of the root after another",
    "binomial": "binomial trees",
    "bruck": "Bruck's doubling",
    "halving-doubling": "recursive halving and doubling",
    "scatter-allgather": "a broadcast by scatter and allgather",
    "chain": "a chain of pipelined chunks",
    "double-binary-tree": "two binary trees, pipelined",
    "hierarchical": "rings among boxes and in boxes",
    "blueconnect": "rings along the sides of a grid",
    "blink": "trees of one root",
    "multitree": "MultiTree",
    "swing": "Swing, whose messages pass through nodes",
    "bine": "Bine butterflies and trees, passing through",
    "recursive": "recursive halving and doubling, passing through",
    "ternary": "peers at powers of three both ways, passing through",
    "bruck-3": "Bruck's with radix three, passing through",
    "bucket": "buckets along all sides of a torus at once",
    "dimension-order": "all messages at once along the sides of a torus, passing through",
}
"""What there is to choose from, with words for help texts."""

FILES = {
    "mpi": "direct spread-out pairwise linear binomial bruck halving-doubling scatter-allgather",
    "rings": "ring chain hierarchical blueconnect",
    "trees": "double-binary-tree blink multitree",
    "passing": "swing bine recursive ternary bruck-3 bucket dimension-order",
}
"""In which file each is, whose ``METHODS`` have it."""
