"""Collectives over circuits that change on the way: bounds, sequences of circuits, published schemes, and a search.

``reconfigure.py`` is the question and its answer; ``bounds.py`` what no sequence beats; ``sequence.py`` a sequence in
which all nodes do the same, and its plans; ``published.py`` what others propose, as sequences or plans; ``search.py``
walks among sequences (``kernels.py``); ``exhaustive.py`` tries all of few nodes. Imports what schedulers do.
"""
