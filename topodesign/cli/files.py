"""Output files that appear whole or not at all."""

from topodesign.files import write_whole

__all__ = ["write_whole"]
