"""Search: known families and expansions of a size, and searches for better digraphs.

Everywhere ``target`` is the size that is searched, ``seed`` that of all random choices, and ``known`` are costs that
need not be found again.
"""
