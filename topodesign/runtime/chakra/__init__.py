"""Chakra traces: their wire format, the simulator's network, a replay, and whether all data arrive."""
