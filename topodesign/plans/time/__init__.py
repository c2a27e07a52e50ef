"""Simulation: when a plan ends in the alpha-beta model, what failures do, and training steps."""
