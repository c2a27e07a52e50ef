"""Wiring: from a topology to cables, what was really wired, and changes from one wiring to another."""
