"""The command line: parse, call, print. Every command imports what it needs when it runs, so that help is instant."""

from topodesign.cli.main import main

__all__ = ["main"]
