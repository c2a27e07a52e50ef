"""Circuit switches: command files, reported circuits and staged changes.

A kind of switch is one file of ``kinds``: a :class:`~topodesign.wiring.switches.switch.Driver` that writes its commands
and reads its answers. To add one, write such a file with a ``DRIVER``; formats, stages and checks have it from there.
``steps`` writes the commands of each stage of a change. May import ``inventory``, ``plan`` and ``change``.
"""
