"""Exports of plans for technicians, inventories, switches and graph programs.

``export`` writes and reads files. ``cables`` makes of a plan the cables and plugs that people handle; every
format is written from these, or from the circuits of the plan. May import ``inventory``, ``netbox``, ``plan``,
``change`` and ``switches``. To add a format, write a file in ``formats`` with ``FORMATS``: by name, a
:class:`~topodesign.wiring.exports.format.Format` with what makes its content of a plan, and what reads it back if
others may send it.
"""
