"""Time-expanded networks: what links take for chunks, and the algorithms that decide who sends what when.

* ``network``: links, and ways through switches, in ticks, exact or rounded up to the steps of a time-expanded network.
* ``greedy`` copies chunks to several nodes, makes whole collectives, and takes the best of many tries; ``forward``:
  chunks that go to one node; ``symmetric``: those of a few nodes, copied by a group; ``trees``: sums that go up trees
  and down others.
* ``merging``: better times for sends whose ways are settled, of one collective or several.
* ``bound``: what no schedule can be faster than.

Networks are never expanded in time: events are, in the compiled loops of the ``*_kernels``. To add an algorithm, write
a function from a network and the chunks that it is to move to sends, and let ``greedy`` or a scheduler of your own call
it.
"""
