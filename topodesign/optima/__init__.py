"""What a fabric can do at best, and with which plan.

A *question* (``question``) is a collective on a fabric, with its root and shard sizes. ``optimum`` tells all that is
known of it, by the method that fits; ``throughput`` the best rate and what limits it; ``alternatives`` what more
bandwidth, fewer trees or another allreduce reach; ``purchase`` the cheapest links to add, ``group_price`` several
groups at once.

Two kinds of algorithms answer, and make the plans that reach it: ``forest`` packs spanning trees (switches only
forward, or are relays that copy and add), ``fluid`` mixes steady flows (memory, shared limits). Imports solve, plans
and pricing, and what is below.
"""
