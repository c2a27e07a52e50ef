"""Plans: what moves when, in rounds, in pipelined trees or in timed sends, and the files that keep it."""
