"""Failures: what a dead port, cable or host leaves, and what repairs it."""
