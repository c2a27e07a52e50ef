"""Change."""
