"""Chakra traces: format, network, replay and data checks."""
