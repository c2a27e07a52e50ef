"""Failures: what a dead port, cable or host leaves, and what repairs it.

``report`` is the door; ``impact`` says what one failure leaves, ``ranking`` which cost most, ``repair`` how to patch
around it, ``order`` which of several to repair first. May import ``inventory``, ``plan`` and ``change``. To add a kind
of failure: its name in ``impact.KINDS``, and in ``losses`` and ``kills`` what it takes along.
"""
