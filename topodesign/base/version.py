"""The version of the package, which files and help texts state."""

__version__ = "0.34.0"
