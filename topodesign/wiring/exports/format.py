"""Description of an export format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

Content: TypeAlias = str | bytes | dict[str, Any]
"""Of a file; or of the files of a directory by their names, each text, bytes or what writes it at a path."""


class Format(NamedTuple):
    """Export format: its summary, writer and settings.

    Attributes
    ----------
    summary
        What it is, for the help text.
    write
        Makes the content of a plan and of the settings that the format takes, by name; with notes of what is not in
        it, a pair ``(content, notes)``.
    takes
        Settings that it understands: ``ending`` of the path (empty if it is a directory), or parameters of
        :func:`topodesign.export_wiring`.
    """

    summary: str
    write: Callable[..., Content | tuple[Content, tuple[str, ...]]]
    takes: tuple[str, ...] = ()
