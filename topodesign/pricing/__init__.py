"""Pricing: exact costs of collectives, by closed forms and linear programs.

With bounds and baselines.
"""
