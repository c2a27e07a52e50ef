"""The verifier: one replay of every plan, which shares no code with what makes plans."""
