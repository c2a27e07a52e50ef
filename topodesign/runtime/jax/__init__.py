"""Programs for JAX: their common code, data and StableHLO.

JAX itself is imported where something is lowered, and nothing else needs it.
"""
