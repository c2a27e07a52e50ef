"""Fabrics: named nodes and switches with bandwidths, files and presets."""
