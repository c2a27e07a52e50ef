"""Verification: independent replay of plans; shares no code with what makes or compiles them."""
