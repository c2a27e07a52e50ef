"""The contract of back ends: what one says of its target, how it writes a program for it, and who reads that again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from topodesign.base.errors import ParameterError
from topodesign.compiler import ir
from topodesign.compiler.ir import PROTOCOLS, Program, Threadblocks
from topodesign.compiler.limits import Limits
from topodesign.runtime.msccl.profiles import RuntimeProfile

if TYPE_CHECKING:
    from topodesign.fabrics.fabric import Fabric
    from topodesign.plans.plan import Plan
    from topodesign.topology.topology import Topology

Files = Mapping[str, bytes]
"""What a back end writes: contents by what follows the name that the user gives, such as ``.xml``.

Of one that writes a directory: contents by the names of the files in it.
"""


class Checked(Protocol):
    """What an independent reading of a program found; :class:`~topodesign.runtime.msccl.check.CheckReport` is one."""

    @property
    def ok(self) -> bool:
        """Whether the program does what its collective promises."""

    def record(self) -> dict[str, Any]:
        """Return all of it as plain dictionaries, lists, strings and numbers."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a program is compiled for.

    An option that a back end does not name in ``takes`` is refused unless it has its default, so that nothing that was
    asked for is left out in silence.

    Attributes
    ----------
    runtime
        Which of the target's runtimes, by its name or with limits of its own.
    name
        What the program is called.
    place
        Where it runs: for targets to which it matters which links there are and of what kind.
    protocol
        How a connection moves data.
    inplace
        Whether it is for calls whose input and output share memory (it is not used for others, nor the reverse).
    channels
        Connections that every message is split over, or that trees are shared out among.
    parts
        Of trees: parts of the data of a tree that follow one another.
    threadblocks
        Whether what sends and what receives share them, see :mod:`topodesign.compiler.frontends.merge`. They are
        separate for back ends that do not take this.
    min_size, max_size
        The smallest and the largest call that it is for, in bytes of the collective's whole data; without a largest one
        the target takes as many as it can.
    size
        Bytes of the call, for targets that know no other.
    alpha, bandwidth
        Seconds of latency of a link, and bits per second of all links of a node together, for targets that time them.
    box
        Ranks of a box, which have consecutive numbers, where the target has other channels between boxes than inside
        one; without it the names of a fabric's nodes say which are in one box.
    """

    runtime: str | RuntimeProfile
    name: str
    place: Topology | Fabric | None = None
    protocol: ir.Protocol = "Simple"
    inplace: bool = False
    channels: int = 1
    parts: int = 1
    threadblocks: Threadblocks = "auto"
    min_size: int = 0
    max_size: int | None = None
    size: Fraction | None = None
    alpha: Fraction | None = None
    bandwidth: Fraction | None = None
    box: int | None = None


EVERYONES = frozenset({"runtime", "name", "place", "protocol", "inplace", "channels", "parts"})
"""Options that every back end takes: the front ends see to them, or the back end says by itself what it cannot do."""


class Backend(ABC):
    """A target: its limits, the text of a program for it, and what reads that text independently.

    Attributes
    ----------
    name
        What ``--target`` calls it.
    ending
        Ending of the name of what it writes, with the dot.
    runtimes
        Names of the runtimes that read them, the first by default.
    protocols
        Those that it knows.
    takes
        Names of the :class:`Options` beside ``EVERYONES`` that it heeds.
    directory
        Whether it writes a directory, with files of the names in ``Files``.
    """

    name: ClassVar[str]
    ending: ClassVar[str]
    runtimes: ClassVar[tuple[str, ...]]
    protocols: ClassVar[tuple[ir.Protocol, ...]] = PROTOCOLS
    takes: ClassVar[frozenset[str]] = frozenset()
    directory: ClassVar[bool] = False

    def refuse(self, plan: Plan, options: Options) -> None:  # noqa: B027 (most take whatever a front end makes)
        """Refuse, before any work, a plan that the target cannot do: its collective, its kind or its place."""

    @abstractmethod
    def limits(self, options: Options) -> Limits:
        """Return what a front end has to keep to."""

    def lower(self, plan: Plan, options: Options) -> Program | None:  # noqa: ARG002
        """Return the program of a plan, for targets that run something else than instructions; None for others."""
        return None

    @abstractmethod
    def lint(self, program: Program, options: Options) -> Iterator[str]:
        """Yield every limit and rule of the target that a program breaks, with the rank and the numbers."""

    @abstractmethod
    def emit(self, program: Program, options: Options) -> Files:
        """Return the files, the same bytes every time."""

    def notes(self, plan: Plan, options: Options, files: Files) -> Iterator[str]:  # noqa: ARG002
        """Yield what has to be known of the files beside what their check finds."""
        yield from ()

    @abstractmethod
    def parse(self, files: Files, options: Options) -> object:
        """Return what the reader of the target, which shares no code with :meth:`emit`, makes of the files."""

    @abstractmethod
    def check(self, files: Files, options: Options, interleavings: int) -> Checked:
        """Read the files as the target does and execute them: whether they do what the collective promises."""

    def accept(self, plan: Plan, options: Options) -> None:
        """Refuse a plan or options that are not for this target."""
        if options.protocol not in self.protocols:
            raise ParameterError(
                f"{self.name} has no protocol {options.protocol!r}; known are {', '.join(self.protocols)}"
            )
        for option in fields(Options):
            given = option.default is not MISSING and getattr(options, option.name) != option.default
            if given and option.name not in EVERYONES | self.takes:
                raise ParameterError(f"{self.name} has no {option.name.replace('_', '-')}; leave that out")
        self.refuse(plan, options)
