"""Tests: folders as in the package, and samples of inputs that several of them draw from."""
