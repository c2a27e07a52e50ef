"""Base: errors, units, exact costs, specs, whole files, strict tables.

Imports no other folder of the package.
"""
