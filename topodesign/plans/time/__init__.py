"""Simulation in the alpha-beta model, with failures and steps."""
