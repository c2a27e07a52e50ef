"""MSCCL XML back end with limit checks and byte-identical output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from topodesign.base.errors import InfeasibleError
from topodesign.compiler.backends.backend import Backend, Files, Options
from topodesign.compiler.ir import Program
from topodesign.compiler.limits import Limits, over
from topodesign.runtime.calls import width_of
from topodesign.runtime.msccl.parse import Program as Parsed
from topodesign.runtime.msccl.parse import parse_xml
from topodesign.runtime.msccl.profiles import LARGEST_SIZE, PROFILES, get_profile

if TYPE_CHECKING:
    from topodesign.plans.plan import Plan
    from topodesign.runtime.msccl.check import CheckReport


class Msccl(Backend):
    """XML for microsoft/msccl, msccl-executor-nccl and RCCL."""

    name = "msccl"
    ending = ".xml"
    runtimes = tuple(PROFILES)
    takes = frozenset({"size", "dtype", "min_size", "max_size", "threadblocks"})
    inplace = True

    def refuse(self, plan: Plan, options: Options) -> None:
        """Reject collectives unknown to the runtime, and too many channels."""
        profile = get_profile(options.runtime)
        profile.coll(plan.collective)
        for broken in over(f"the runtime {profile.name}", "channels", profile.channels, options.channels):
            raise InfeasibleError(broken)

    def chunk_unit(self, options: Options) -> int:
        """Return the bytes of an element."""
        return width_of(options.dtype)

    def limits(self, options: Options) -> Limits:
        """Return the front-end limits of the runtime profile."""
        profile = get_profile(options.runtime)
        return Limits(
            chunks_per_instruction=profile.chunks_per_step,
            instructions_per_block=profile.steps_per_threadblock,
            instructions_per_rank=profile.xml_nodes_per_rank,
            blocks_per_channel=profile.threadblocks_per_channel,
            blocks_per_rank=min(profile.threadblocks_per_rank, profile.resident_threadblocks),
            channels=profile.channels,
            slots=profile.slots[options.protocol],
            slot_bytes=profile.slot_bytes[options.protocol],
            largest_call=LARGEST_SIZE if options.max_size is None else max(1, options.max_size),
            ranks=profile.children_per_node,
            settles=options.protocol != "LL" or profile.ll_send_barrier,
            of=f"the runtime {profile.name}",
        )

    def lint(self, program: Program, options: Options) -> Iterator[str]:
        """Yield every exceeded limit of the runtime's profile."""
        from topodesign.compiler.backends.xml import lint  # noqa: PLC0415  NumPy, which help does without

        return lint(program, get_profile(options.runtime))

    def emit(self, program: Program, options: Options) -> Files:
        """Return the XML."""
        from topodesign.compiler.backends.xml import to_xml  # noqa: PLC0415  NumPy, which help does without

        text = to_xml(
            program,
            profile=get_profile(options.runtime),
            name=options.name,
            min_bytes=options.min_size,
            max_bytes=options.max_size,
        )
        return {self.ending: text.encode()}

    def notes(self, plan: Plan, options: Options, files: Files) -> Iterator[str]:  # noqa: ARG002
        """Yield runtime connections without links in the wiring."""
        from topodesign.compiler.wires import find_unlinked  # noqa: PLC0415  NumPy, which help does without

        return find_unlinked(plan.place, get_profile(options.runtime))

    def parse(self, files: Files, options: Options) -> Parsed:
        """Read the XML as the runtime does."""
        return parse_xml(files[self.ending].decode(), get_profile(options.runtime))

    def check(self, files: Files, options: Options) -> CheckReport:
        """Check the XML by executing it as the runtime does."""
        from topodesign.runtime.msccl.check import check_program  # noqa: PLC0415  NumPy, which help does without

        return check_program(self.parse(files, options), get_profile(options.runtime))
