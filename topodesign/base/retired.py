"""Names that earlier versions had, with what to use instead; version 0.31 removes this module.

Commands, options and Python names that were retired are refused with one line that names the successor.
"""

from __future__ import annotations

COMMANDS: dict[str, str] = {}
"""Successor of each retired command, by its words: ``routes``, ``wire apply``."""

OPTIONS: dict[str, dict[str, str]] = {}
"""Successor of each retired option, by command and option: ``{"pareto": {"--hop": ...}}``."""

NAMES: dict[str, str] = {}
"""Successor of each retired name of the Python package."""


def describe_retired(name: str, successor: str) -> str:
    """Return the line that refuses a retired name.

    Parameters
    ----------
    name
        Words of a command, an option or a Python name, as people type it.
    successor
        Sentence that says what to use instead.

    Returns
    -------
    str
        One line.
    """
    return f"{name} was retired after 0.27: {successor}"
