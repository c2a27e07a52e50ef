"""Algebra: finite fields, groups by name, and the catalogue of groups of an order. Imports base and topology.

To add a group, write a function in ``groups`` that returns a :class:`topodesign.algebra.groups.Group` and list it in
``GROUPS`` there: its name and integers are the group's spec, and its docstring says which integer is which element. If
the search for Cayley digraphs should use it, describe it in ``group_catalog``, too.
"""
