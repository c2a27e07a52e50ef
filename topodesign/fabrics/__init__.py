"""Fabrics."""
