"""Checks of installed wiring against plans.

``observed`` and ``cables`` read what hosts, switches and NetBox say, ``comparison`` holds the planned net against it,
``exchanges`` finds which fixed cables are exchanged, and ``check`` how few patches set it right. May import
``inventory``, ``plan``, ``exports`` and ``change``. To add a source: a function in ``observed`` that returns an
:class:`~topodesign.wiring.check.observed.Observed`, and its argument of ``check_wiring``.
"""
