"""From a plan to circuit switches: what is in them, what has to change, and changing it stage by stage.

``apply_wiring`` is the door; ``steps`` says what goes and comes in each stage, ``devices`` reads and commands a switch
and knows what is not known of it, ``engine`` goes through the stages, checks each and undoes them where one fails,
``journal`` keeps what was read and sent, and ``applied`` is what became of it. ``scpi`` and ``sonic`` speak to
switches, ``switches`` says what one can be asked. ``stage_files`` writes the commands of each stage instead. May import
``inventory``, ``plan``, ``exports`` and ``change``.
"""
