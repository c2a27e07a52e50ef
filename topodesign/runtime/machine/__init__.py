"""One machine for programs of all targets: it executes them, and decides deadlocks, races and results."""
