"""The version of the package, which files and help texts state."""

__version__ = "0.33.0"
