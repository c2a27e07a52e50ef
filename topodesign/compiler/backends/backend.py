"""Interface of back ends: limits, output and independent parser."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from topodesign.base.errors import ParameterError
from topodesign.base.options import collect_options, with_fields
from topodesign.compiler import options as compile_options
from topodesign.compiler.limits import NO_LIMITS, Limits
from topodesign.compiler.options import EVERYONES, PROTOCOLS, CompileOptions
from topodesign.runtime.msccl.profiles import RuntimeProfile

if TYPE_CHECKING:
    from topodesign.compiler.ir import Program
    from topodesign.fabrics.fabric import Fabric
    from topodesign.plans.flow import Flow
    from topodesign.plans.plan import Plan
    from topodesign.topology.topology import Topology

Files = Mapping[str, bytes]
"""What a back end writes: contents by what follows the name that the user gives, such as ``.xml``.

Of one that writes a directory: contents by the names of the files in it.
"""


class Checked(Protocol):
    """Check report, such as :class:`~topodesign.runtime.msccl.check.CheckReport`."""

    @property
    def ok(self) -> bool:
        """Whether the program implements its collective."""

    def record(self) -> dict[str, Any]:
        """Return the report as plain dictionaries, lists, strings and numbers."""


@dataclass(frozen=True)
@with_fields(CompileOptions)
class Options:
    """Compile options plus runtime, program name and network (``place``).

    An option that a back end does not name in ``takes`` is refused unless it has its default, so that no option is
    ignored in silence. The place is for targets to which it matters which links there are and of what
    kind.
    """

    runtime: str | RuntimeProfile
    name: str
    place: Topology | Fabric | None = None

    if TYPE_CHECKING:

        def __init__(
            self, runtime: str | RuntimeProfile, name: str, place: Topology | Fabric | None = None, **options: Any
        ) -> None: ...

        def __getattr__(self, name: str) -> Any: ...


class Backend(ABC):
    """Compilation target with its limits, output and independent parser."""

    name: ClassVar[str]  # what ``--target`` calls it
    ending: ClassVar[str]  # ending of the name of what it writes, with the dot
    runtimes: ClassVar[tuple[str, ...]]  # names of the runtimes that read them, the first by default
    protocols: ClassVar[tuple[compile_options.Protocol, ...]] = PROTOCOLS  # those that it knows
    takes: ClassVar[frozenset[str]] = frozenset()  # names of the options beside ``EVERYONES`` that it heeds
    inplace: ClassVar[bool] = False  # whether programs in place are others than those out of place
    directory: ClassVar[bool] = False  # whether it writes a directory, with files of the names in ``Files``

    def refuse(self, plan: Plan, options: Options) -> None:  # noqa: B027 (most take whatever a front end makes)
        """Reject a plan that the target cannot run."""

    def limits(self, options: Options) -> Limits:  # noqa: ARG002
        """Return the limits for front ends; none by default."""
        return NO_LIMITS

    def chunk_unit(self, options: Options) -> int:  # noqa: ARG002
        """Return the bytes of which a chunk is a multiple; a runtime uses a program for multiples of its chunks."""
        return 1

    def lower(self, plan: Plan, options: Options) -> Program | None:  # noqa: ARG002
        """Return a plan's program, None for targets that run instructions."""
        return None

    def lower_phase(self, rounds: Flow, number: int, options: Options) -> Program | None:  # noqa: ARG002
        """Return a phase's program, None for targets that run instructions."""
        return None

    @abstractmethod
    def lint(self, program: Program, options: Options) -> Iterator[str]:
        """Yield each violated target limit or rule, with numbers."""

    @abstractmethod
    def emit(self, program: Program, options: Options) -> Files:
        """Return the files, the same bytes every time."""

    def notes(self, plan: Plan, options: Options, files: Files) -> Iterator[str]:  # noqa: ARG002
        """Yield notes on the files beyond the check's findings."""
        yield from ()

    @abstractmethod
    def parse(self, files: Files, options: Options) -> object:
        """Parse the files independently of :meth:`emit`."""

    @abstractmethod
    def check(self, files: Files, options: Options) -> Checked:
        """Execute the files as the target does and check results."""

    def accept(self, plan: Plan, options: Options) -> None:
        """Reject a plan or options that do not fit this target."""
        if options.protocol not in self.protocols:
            raise ParameterError(
                f"{self.name} has no protocol {options.protocol!r}; known are {', '.join(self.protocols)}"
            )
        for name, option in collect_options(CompileOptions).items():
            given = getattr(options, name) != option.read(name, option.default)
            if given and name not in EVERYONES | self.takes:
                raise ParameterError(f"{self.name} has no {name.replace('_', '-')}; omit it")
        self.refuse(plan, options)
