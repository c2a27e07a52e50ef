"""Plans: what moves when, in rounds or in pipelined trees, and the files that keep it."""
