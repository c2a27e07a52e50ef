"""Failures of ports, cables and hosts, with effects and repairs.

``report`` ranks them; ``impact`` says what one failure leaves and how to patch around it. May import
``inventory``, ``plan`` and ``change``. To add a kind of failure: its name in ``impact.KINDS``, and in ``losses`` and
``dead_ends`` what it takes along.
"""
