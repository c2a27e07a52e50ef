"""Time-expanded networks: what links take for chunks, and the algorithms that decide who sends what when.

* ``network``: links in ticks, exact or rounded up to the steps of a time-expanded network.
* ``copying``: chunks that are copied to several nodes; ``forward``: chunks that go to one. Both with their kernels.
* ``bound``: what no schedule can be faster than.

Networks are never expanded in time: events are. To add an algorithm, write a function from a network and the chunks
that it is to move to sends, and let ``schedulers/tacos.py`` or a scheduler of your own call it.
"""
