"""Topology design from requirements: request, contenders and decision.

``request.py`` is the request as a value, ``reading.py`` reads and checks its file, ``contenders.py`` makes what is
compared, and ``answer.py`` is the decision. A new kind of contender is one line of ``KINDS`` in ``contenders.py``.
"""
