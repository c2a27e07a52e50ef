"""Collectives over circuits that change on the way: bounds, sequences of circuits, published schemes, and searches.

``reconfigure`` is the question and its answer; ``bounds`` what no sequence beats; ``sequence`` one in which all nodes
do the same, and its plans; ``published`` what others propose; ``search`` walks among sequences.
"""
