"""Oracles that try to refute what the program claims, a kind of claim at a time, by code that shares none with it."""
