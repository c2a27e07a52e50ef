"""Checks: what was really wired against what was planned."""
