"""Fluid programs: the best steady flow of a collective where parts can copy, add up, store or only forward.

``network``
    Arcs, the limits that they share, and who can copy; of a reduction turned round, with who can add in their place.
``symmetry``
    Automorphisms that keep all of it, and the orbits of nodes and limits.
``cheapest_tree``
    The cheapest way from one root to everybody at given prices: trees, and paths where every pair has its own data;
    ``arborescence_kernels`` has the inner loops.
``decomposition``
    Dantzig-Wolfe: trees become columns of a master program, which finds prices; with one root for each orbit it is the
    mirrored kind.
``fluid_optimum``
    The optimum of a collective on a fabric, with its proof.
``packing``
    The same trees on links told apart, as a plan.

The source is Algorithmic Techniques for Optimal Collective Communication, chapters 3 to 5. To add a program, say in
``decomposition`` what its columns are and how they are linked.
"""
