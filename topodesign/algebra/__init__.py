"""Algebra: finite fields, groups by name and the catalogue of groups of an order. Imports base."""
