"""The command line: parse, call, print.

Commands import what they need when they run, so that help is instant.
"""

from topodesign.cli.main import main

__all__ = ["main"]
