"""Programs for JAX: the code that all of them have, their data, and what JAX makes of them in StableHLO.

JAX itself is imported where something is lowered, and nothing else needs it.
"""
