"""Front ends: one a file for every kind of data movement, each makes the instructions of all ranks of a plan.

Imports the instruction IR, plans and their verification, and knows no back end: what a target allows comes as
:class:`~topodesign.compiler.limits.Limits`. ``layout`` (the message table), ``writer`` and ``threads`` are steps that
they share. A new front end is listed with the movement that it takes in ``FRONT_ENDS`` of
:mod:`topodesign.compiler.compilation`.
"""
