"""Collectives over reconfigurable circuits: bounds, schemes and search.

``reconfigure`` is the question and its answer; ``bounds`` what no sequence beats; ``sequence`` one in which all nodes
do the same, and its plans; ``published`` what others propose; ``search`` walks among sequences.
"""
