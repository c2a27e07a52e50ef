"""Time-expanded networks: link times and greedy scheduling algorithms.

``network`` has links, and ways through switches, in ticks. ``greedy`` copies chunks, makes whole collectives and takes
the best of many tries; ``forward`` is for chunks that go to one node, ``symmetric`` for copies by a group, ``trees``
for sums along trees, ``merging`` for sends whose ways are settled, ``bound`` for what no schedule can be faster than.
Networks are never expanded in time: events are, in the compiled loops of the ``*_kernels``. To add an algorithm, write
a function from a network and its chunks to sends, and let ``greedy`` or a scheduler call it.
"""
