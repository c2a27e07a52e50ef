"""Search: the best topologies of a size, and the catalog of all sizes.

Known families and expansions, exchanges of links, voltages and generators; strategies that build a catalog
and make it better; its closure under expansions. Everywhere ``target`` is the size that is searched, ``seed`` that of
all random choices, and ``known`` are costs that need not be found again.
"""
