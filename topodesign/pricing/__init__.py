"""Pricing: what a collective costs on a topology, in closed form and by linear programs; bounds and baselines."""
