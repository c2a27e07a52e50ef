"""Front ends of the compiler, one module per schedule type.

Imports the instruction IR, plans and their verification, and knows no back end: what a target allows comes as
:class:`~topodesign.compiler.limits.Limits`. ``layout`` (the message table), ``writer`` and ``threads`` are steps that
they share. A new front end is listed with the movement that it takes in ``FRONT_ENDS`` of
:mod:`topodesign.compiler.compilation`.
"""
