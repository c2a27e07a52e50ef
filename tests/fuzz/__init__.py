"""Files made wrong on purpose, for every reader and for the command line."""
