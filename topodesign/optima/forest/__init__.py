"""Throughput-optimal collectives on any fabric by packing spanning trees (ForestColl)."""
