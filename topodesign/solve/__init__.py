"""Exact prices and the linear programs behind them; floats of a solver never leave this folder undecided."""
