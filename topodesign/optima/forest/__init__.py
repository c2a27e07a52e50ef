"""Spanning trees, packed (ForestColl): what they reach at most, and schedules that do.

Bounds: ``bottleneck`` (1/x* and the cut that binds), ``balance`` (the part of unequal switches that is of use),
``tree_counts`` (a given number of trees), ``allreduce`` and ``in_network`` (both phases at once, without and with
switches that copy and add; programs over cuts as ``cut_program`` has them), ``covering`` (links to add).

Algorithms: ``switch_removal``, then ``packing``; ``low_trees`` where the fabric is symmetric. Plans: ``schedule`` and
``in_network_schedule``; ``describe`` says what they reach.
"""
