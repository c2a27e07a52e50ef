"""MSCCL programs: limits, parser, interpreter and checks."""
