"""Packed spanning trees (ForestColl): optima, and schedules.

Bounds: ``bottleneck`` (1/x* and the cut that binds), ``balance`` (the part of unequal switches that is of use),
``tree_counts`` (a given number of trees), ``allreduce`` (both phases at once, a program over cuts; with
switches that copy and add it is a fluid one), ``covering`` (links to add).

Algorithms: ``switch_removal``, then ``packing``; ``low_trees`` where the fabric is symmetric, ``box_trees`` where it is
of equal boxes. Plans: ``schedule`` and ``in_network_schedule``; ``describe`` says what they reach.
"""
