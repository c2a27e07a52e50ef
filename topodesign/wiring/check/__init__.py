"""Checks of installed wiring against plans.

``observed`` reads what hosts and switches say, ``as_cabled`` finds which fixed cables are exchanged, ``check`` what is
wrong and how few patches set it right. May import ``inventory``, ``plan``, ``exports`` and ``change``. To add a source:
a function in ``observed`` that returns an :class:`~topodesign.wiring.check.observed.Observed`, and its argument of
``check_wiring``.
"""
