"""Base: errors, units, exact costs, the spec language, whole files and strict tables. Imports no other folder."""
