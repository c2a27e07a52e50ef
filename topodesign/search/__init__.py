"""Search: known families and expansions of a size, and searches for better digraphs."""
