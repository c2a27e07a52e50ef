"""The verifier: one independent replay of every plan."""
