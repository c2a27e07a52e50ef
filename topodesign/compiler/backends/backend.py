"""The contract of back ends: what one says of its target, and how it writes a program for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from topodesign.compiler.ir import Program, Protocol
from topodesign.compiler.limits import Limits
from topodesign.runtime.profiles import RuntimeProfile

if TYPE_CHECKING:
    from topodesign.runtime.check import CheckReport

Files = Mapping[str, bytes]
"""What a back end writes: contents by what follows the name that the user gives, such as ``.xml`` or ``.0.et``."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a program is compiled for.

    Attributes
    ----------
    runtime
        Which of the target's runtimes, by its name or with limits of its own.
    name
        What the program is called.
    protocol
        How a connection moves data.
    inplace
        Whether it is for calls whose input and output share memory (it is not used for others, nor the reverse).
    channels
        Connections that every message is split over, or that trees are shared out among.
    parts
        Of trees: parts of the data of a tree that follow one another.
    min_bytes, max_bytes
        The smallest and the largest call that it is for, in bytes of the collective's whole data; without a largest one
        the target takes as many as it can.
    """

    runtime: str | RuntimeProfile
    name: str
    protocol: Protocol = "Simple"
    inplace: bool = False
    channels: int = 1
    parts: int = 1
    min_bytes: int = 0
    max_bytes: int | None = None


class Backend(ABC):
    """A target: its limits, and the text of a program for it.

    Attributes
    ----------
    name
        What ``--target`` calls it.
    ending
        Ending of the name of what it writes, with the dot.
    runtimes
        Names of the runtimes that read them, the first by default.
    """

    name: ClassVar[str]
    ending: ClassVar[str]
    runtimes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def limits(self, options: Options) -> Limits:
        """Return what a front end has to keep to.

        Raises
        ------
        InfeasibleError
            If the options alone exceed a limit.
        ParameterError
            If there is no such runtime.
        """

    @abstractmethod
    def emit(self, program: Program, options: Options) -> Files:
        """Return the files, the same bytes every time, after checking every limit of the target.

        Raises
        ------
        InfeasibleError
            If the program exceeds a limit; the message names it.
        ParameterError
            If an option is out of range.
        """

    def check(self, files: Files, options: Options, interleavings: int) -> CheckReport | None:  # noqa: ARG002
        """Return what an independent reading of the files finds, None where nothing can read them.

        Parameters
        ----------
        files
            What :meth:`emit` returned.
        options
            What they were made for.
        interleavings
            Orders of execution to try.
        """
        return None
