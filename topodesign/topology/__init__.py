"""Topology: links with capacities as columns, what is known of their symmetry, and their files. Imports base.

* ``topology``: the frozen value, its look-up of links and its derived columns;
* ``symmetry``: automorphisms that prove which nodes look alike, orbits, and permutations from representatives to nodes;
* ``automorphisms``, ``isomorphism``: the same by search, for topologies that no construction explains;
* ``family``: the decorator that makes a plain function a family of graphs with a spec and a finder;
* ``files``, ``link_table``: formats of links, and tables of links that are not alike.

To add a file format, add its reader and its writer to ``files`` and its ending to the table there.
"""
