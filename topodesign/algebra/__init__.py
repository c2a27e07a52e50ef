"""Algebra."""
