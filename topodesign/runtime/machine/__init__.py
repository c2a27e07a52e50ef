"""One machine for programs of all targets.

It executes them, and decides deadlocks, races and results.
"""
