"""What MSCCL runtimes accept and do: their limits, their parser, their interpreter, and a checker of programs.

Imports base and collectives alone: nothing here knows how a program was made. To add a runtime of the same XML, list
its :class:`~topodesign.runtime.profiles.RuntimeProfile` in ``PROFILES``; what it calls a collective is said there, in
``labels`` of the collective.
"""
