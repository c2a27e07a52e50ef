"""What a fabric can do at best, and plans that reach it: trees, flows, and switches that add and copy."""
