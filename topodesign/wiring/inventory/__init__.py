"""Inventories: what there is to wire with, and their files."""
