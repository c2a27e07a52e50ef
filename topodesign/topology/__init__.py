"""Topology: links with capacities, symmetry, and files.

Imports base.

``topology`` is the frozen value; ``symmetry`` has automorphisms that prove which nodes look alike, ``automorphisms``
and ``isomorphism`` the same by search; ``family`` makes a plain function a family of graphs with a spec and a finder.
``files`` writes topologies; :mod:`topodesign.fabrics.networks` reads every format, and says how to add one.
"""
