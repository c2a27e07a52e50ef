"""Runtimes: what they accept and do, and independent program checkers.

Imports base and collectives alone. A folder for each form of program: ``msccl`` (XML), ``mscclpp`` (plans), ``jax``
(modules of Python) and ``chakra`` (traces), each with a parser, what a program means, and a ``check`` that decides
whether it does what its collective promises. ``report`` says what all of them find, ``memory`` what buffers hold before
and after. ``doctor`` reads logs. To add a runtime of MSCCL's XML, list its
:class:`~topodesign.runtime.msccl.profiles.RuntimeProfile` in ``PROFILES``; its names of
collectives are in their ``labels``.
"""
