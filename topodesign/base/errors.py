"""Errors that a user can cause.

The command line prints each as one clear line, with an exit code.
"""

from __future__ import annotations


class TopodesignError(Exception):
    """Base of every error caused by the input.

    The command line prints the message to standard error and exits with status 2.
    """


class ParameterError(TopodesignError, ValueError):
    """A number is outside the range that a function documents."""


class UnitError(TopodesignError, ValueError):
    """A quantity such as ``10us`` or ``100Gbps`` cannot be read."""


class TooLargeError(ParameterError):
    """A topology has more nodes or links than the library builds."""


class TopologyError(TopodesignError, ValueError):
    """Links, capacities or nodes do not make the required topology."""


class DisconnectedError(TopologyError):
    """Some node cannot reach some other node, so no collective exists."""


class ScheduleError(TopodesignError, ValueError):
    """Columns do not make a schedule."""


class FileFormatError(TopodesignError, ValueError):
    """A file cannot be read as what it should be."""


class CatalogError(FileFormatError):
    """A catalog file is missing, truncated or edited.

    The message names the file and the line.
    """


class MissingLibraryError(TopodesignError, ImportError):
    """A library of an extra is not installed.

    The message names the extra.
    """


class InfeasibleError(TopodesignError):
    """The requested object does not exist (exit status 1)."""


class SpecError(TopodesignError, ValueError):
    """A spec cannot be parsed or built.

    Holds the text and the position of the fault.

    * ``message``: what is wrong, without the text.
    * ``text``: the whole spec.
    * ``position``: 0-based offset of the character at fault.
    """

    def __init__(self, message: str, text: str, position: int) -> None:
        super().__init__(message)
        self.message = message
        self.text = text
        self.position = max(0, min(position, len(text)))

    def __str__(self) -> str:
        """Return the message with a caret below the faulty character."""
        start = max(0, self.position - 60)
        window = "".join(c if c.isprintable() else " " for c in self.text[start : start + 100])
        return f"{self.message}\n  {window}\n  {' ' * (self.position - start)}^"
