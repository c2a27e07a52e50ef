"""Programs in MSCCL's XML: limits of runtimes, their parser, their interpreter, and whether a program is right."""
