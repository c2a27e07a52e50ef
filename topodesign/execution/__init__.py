"""Execution: plans that move real bytes, among threads of one process or among MPI processes, and are checked.

A plan's kind says who sends what to whom, ``program`` what each rank has to do, and ``workspace`` where its data
lie and what must be in them in the end. A *transport* carries the messages: ``threads`` and ``mpi``. To add one, copy
the first and list it in ``run``. ``fit`` says what the times mean.
"""
