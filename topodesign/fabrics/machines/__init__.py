"""Readers of the output of machines' own tools, one per tool.

A reader is one file with one function from text to a :class:`~topodesign.fabrics.machines.machine.Machine`, and a line
in :mod:`topodesign.fabrics.machines.outputs`. What a tool does not say is not guessed by a reader: it stays open, and
whoever asks for the fabric fills it in, or the result reports what was assumed.
"""
