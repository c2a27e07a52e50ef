"""Fluid programs: steady flows over parts that copy, add and store.

``network`` has arcs, limits and who can copy; ``symmetry`` what automorphisms exchange; ``decomposition``
(Dantzig-Wolfe) the master programs, whose columns ``cheapest_tree`` finds; ``problem`` the optimum with its
proof, and ``packing`` the same trees as a plan. The source is Algorithmic Techniques for Optimal Collective
Communication, chapters 3 to 5. To add a program, say in ``decomposition`` what its columns are and how they are linked.
"""
