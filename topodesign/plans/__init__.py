"""Plans: what moves when, in rounds, in pipelined trees, over paths or in timed sends, and the files that keep it."""
