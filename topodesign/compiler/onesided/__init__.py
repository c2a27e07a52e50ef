"""One-sided programs (puts, signals and waits) from sends and receives.

Imports the instruction IR. ``actions`` pairs what is sent with what is received, ``order`` finds out what a signal has
to tell beyond the data, ``blocks`` writes it down threadblock by threadblock.
"""
