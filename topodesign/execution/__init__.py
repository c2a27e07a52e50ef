"""Execution of plans with real data, in threads or processes.

A plan's kind says who sends what to whom, ``program`` what each rank has to do, ``workspace`` where its data lie and
what must be in them in the end. A *transport* carries the messages: ``threads``, ``mpi`` and ``torch``. To add one,
copy the first and list it in ``run``; what those with a process for every rank have in common is in ``processes``.
``levels`` checks batches for libraries that tell messages apart by their order alone. ``result`` says what the times
mean.
"""
