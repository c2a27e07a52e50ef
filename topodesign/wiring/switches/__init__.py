"""Circuit switches: what is written for one, what one says it has, and making its circuits those of a plan.

A kind of switch is one file of ``kinds``: a :class:`~topodesign.wiring.switches.switch.Driver` that knows its commands,
its files and how it is spoken to. To add one, write such a file with a ``DRIVER``; formats, stages, checks and
addresses have it from there. ``apply`` is the door to live switches: ``steps`` says what goes and comes in each
stage, ``devices`` reads and commands a switch and knows what is not known of it, ``engine`` goes through the stages,
checks each and undoes them where one fails, ``journal`` keeps what was read and sent, and ``applied`` is what became of
it. ``stage_files`` writes the commands of each stage instead. May import ``inventory``, ``plan`` and ``change``.
"""
