"""Plans: what moves when, in one form, and the files that keep it."""
