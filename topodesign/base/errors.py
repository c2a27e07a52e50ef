"""Errors a user can cause; the command line turns each into one clear line and an exit code."""

from __future__ import annotations


class TopodesignError(Exception):
    """Base of every error that is the input's fault, not the program's.

    The command line prints the message to standard error and exits with status 2.
    """


class ParameterError(TopodesignError, ValueError):
    """A number is outside the range that a function documents."""


class UnitError(TopodesignError, ValueError):
    """A quantity such as ``10us`` or ``100Gbps`` cannot be read."""


class TooLargeError(ParameterError):
    """A topology has more nodes or links than the library is willing to build."""


class TopologyError(TopodesignError, ValueError):
    """Links, capacities or node numbers do not make a topology, or not the kind that is asked for."""


class DisconnectedError(TopologyError):
    """Some node cannot reach some other node, so no collective exists."""


class ScheduleError(TopodesignError, ValueError):
    """Columns do not make a schedule."""


class FileFormatError(TopodesignError, ValueError):
    """A file cannot be read as what it should be."""


class CatalogError(FileFormatError):
    """A file of the catalog is missing, truncated or edited; the message names the file and the line."""


class MissingLibraryError(TopodesignError, ImportError):
    """A library that only some results need is not installed; the message says which extra brings it."""


class InfeasibleError(TopodesignError):
    """What is asked for does not exist (an answer of "no", exit status 1)."""


class SpecError(TopodesignError, ValueError):
    """A spec cannot be read or built; knows the text and the character at fault.

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
        """Return the message with a window of the text and a caret under the character at fault."""
        start = max(0, self.position - 60)
        window = "".join(c if c.isprintable() else " " for c in self.text[start : start + 100])
        return f"{self.message}\n  {window}\n  {' ' * (self.position - start)}^"
