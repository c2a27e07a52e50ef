"""Fabrics: named nodes and switches with real bandwidths, their files, and generators of real machines."""
