"""Wiring plans: which host is which node, and the cross-connects that make the links."""
