"""Standalone JAX modules of plans, by ``shard_map`` and ``ppermute``.

A module has five numbers, code that is the same in all of them (:mod:`topodesign.runtime.jax.code`), and ``PHASES``:
for every step its permutations, who sends to whom, and which rows are sent and where they go. Rows are static slices
where they are the same at all ranks, else a table has those of every rank. All is traced by JAX like any function, so
that it has a derivative: that of an allgather is a reduce-scatter over the same links turned round.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from topodesign.base.errors import FileFormatError, InfeasibleError, ParameterError
from topodesign.compiler.backends.backend import Backend, Files, Options
from topodesign.compiler.ir import Exchange, Permutations, Phase, Program, Rows

if TYPE_CHECKING:
    from topodesign.plans.plan import Plan
    from topodesign.runtime.jax.check import ModuleReport
    from topodesign.runtime.jax.module import Module

_WIDE = 116  # characters of a line of data
_NOTE = "Note: "
_MAX_RUNS = 2**19  # of rows in the text


class Jax(Backend):
    """A module of Python for JAX."""

    name = "jax"
    ending = ".py"
    runtimes = ("jax",)
    protocols = ("Simple",)

    def refuse(self, plan: Plan, options: Options) -> None:  # noqa: ARG002
        """Reject channels, which arrays do not have."""
        if options.channels > 1:
            raise ParameterError("jax has no channels: XLA decides how a permutation is sent; omit them")

    def lower(self, plan: Plan, options: Options) -> Program:
        """Return the permutations of the plan."""
        from topodesign.compiler.frontends.permutations import permutations_of  # noqa: PLC0415  NumPy, not for help
        from topodesign.compiler.frontends.permuted_sums import permutations_of_sums  # noqa: PLC0415
        from topodesign.plans.plan_ops import adds_at_ranks  # noqa: PLC0415

        make = permutations_of_sums if adds_at_ranks(plan) else permutations_of
        return make(plan, options.parts, inplace=options.inplace)

    def lint(self, program: Program, options: Options) -> Iterator[str]:  # noqa: ARG002
        """Yield reasons that a module is too long to trace."""
        if not isinstance(program, Permutations):
            yield "modules for JAX are made of permutations, not of instructions"
            return
        runs = sum(sum(map(len, rows)) for phase in program.phases for rows in _all_rows(phase))
        if runs > _MAX_RUNS:
            yield (
                f"{runs} runs of rows are too many for a module (at most {_MAX_RUNS}); use a smaller N, a topology "
                "that looks the same from all nodes, or a schedule with fewer chunks"
            )

    def emit(self, program: Program, options: Options) -> Files:
        """Return the module."""
        for broken in self.lint(program, options):
            raise InfeasibleError(broken)
        assert isinstance(program, Permutations)  # noqa: S101  for mypy; lint has seen to it
        from topodesign.runtime.jax.code import ENDING, buffers, code_of, name_of  # noqa: PLC0415  not for help

        collective, ranks = program.collective, program.ranks
        splits, joins, whole = buffers(collective, ranks)
        title = f"{options.name}: {collective} of {ranks} ranks over the links of its plan, for JAX."
        name = name_of(collective)
        lines = [
            '"""' + textwrap.fill(title.replace("\\", "/").replace('"', "'"), _WIDE),
            "",
            f'Inside jax.shard_map call {name}(x, "x"), where mesh axis "x" has {ranks} devices in the order of ranks.',
            "Written by topodesign, which checks it: topodesign verify FILE.py. Compare it with JAX's: python FILE.py",
            *(f"\n{textwrap.fill(_NOTE + note, _WIDE)}" for note in _costs(program)),
            '"""',
            "",
            f"RANKS = {ranks}",
            f"ROOT = {collective.root}",
            f"SPLITS = {splits}  # whether the first axis of x has a block for every rank",
            f"JOINS = {joins}  # whether that of the result has",
            f"PIECES = {program.shard * (ranks if whole else 1)}  # equal pieces of a block" + " or of x" * whole,
            *([f"CHANGES = {program.changes}  # steps after each of which circuits change"] if program.changes else []),
            *_amounts(program.sent, ranks),
            "",
            code_of(
                collective,
                changing=bool(program.changes),
                summing=program.phases[0].terms > 0,
                uneven=program.sent is not None,
            ).rstrip(),
            "",
            "",
            "# Rows are runs (first, end), once if they are the same at all ranks; below 0 stands for rows of zeros.",
            *_phases(program),
            "",
            ENDING,
        ]
        return {self.ending: "\n".join(lines).encode()}

    def notes(self, plan: Plan, options: Options, files: Files) -> Iterator[str]:  # noqa: ARG002
        """Yield the extra cost of permutations over the plan's sends."""
        head = files[self.ending].decode().split('"""', 2)[1]
        for said in head.split("\n\n"):
            if said.startswith(_NOTE):
                yield " ".join(said.removeprefix(_NOTE).split())
        if b"\nCHANGES = " in files[self.ending]:
            yield "a stage for the circuits of each phase: call stages() one by one, and let circuits change between"
        if options.inplace:
            yield "arrays of JAX do not change in place; jax.jit(..., donate_argnums=0) lets the result take x's memory"

    def parse(self, files: Files, options: Options) -> Module:  # noqa: ARG002
        """Read the module without executing it."""
        from topodesign.runtime.jax.module import ModuleError, parse_module  # noqa: PLC0415  not for help

        (content,) = files.values()
        try:
            return parse_module(content)
        except ModuleError as error:
            raise FileFormatError(str(error)) from None

    def check(self, files: Files, options: Options) -> ModuleReport:  # noqa: ARG002
        """Check the module by data replay and, if installed, JAX."""
        from topodesign.runtime.jax.check import check_module  # noqa: PLC0415  not for help

        (content,) = files.values()
        return check_module(content)


def _costs(program: Permutations) -> Iterator[str]:
    sent = sum(one.width * len(one.pairs) for one in program.exchanges)
    moved = sum(one.moved for one in program.exchanges)
    if sent > moved:
        yield (
            f"links of a step carry unequal parts, and those of a permutation are of one size: {sent} pieces are "
            f"sent for {moved}; more permutations than the degree would send fewer"
        )
    tables = sum(len(rows) > 1 for one in program.exchanges for rows in (one.take, one.put))
    if tables:
        yield f"{tables} of {2 * len(program.exchanges)} slices differ by rank, and are looked up in tables"


def _amounts(amounts: Sequence[int] | None, ranks: int) -> Iterator[str]:
    """Yield source lines with pieces per block, one per sender."""
    if amounts is not None:
        yield "AMOUNTS = (  # of the pieces of each block those that are sent, by sender and receiver; zeros else"
        for first in range(0, len(amounts), ranks):
            yield from _wrap_text(f"{tuple(amounts[first : first + ranks])},", 4)
        yield ")"


def _all_rows(phase: Phase) -> Iterator[Rows]:
    yield phase.start
    yield phase.finish
    for step in phase.steps:
        for one in step:
            yield one.take
            yield one.put


def _phases(program: Permutations) -> Iterator[str]:
    number = 0
    yield "PHASES = ("
    for phase in program.phases:
        yield "    {"
        yield f'        "adds": {phase.adds},'
        yield from _field("start", phase.start, 8)
        yield '        "steps": ('
        for step in phase.steps:
            number += 1
            yield f"            (  # step {number}"
            for one in step:
                yield from _exchange(one)
            yield "            ),"
        yield "        ),"
        yield from _field("finish", phase.finish, 8)
        if phase.terms:
            yield f'        "terms": {phase.terms},'
        yield "    },"
    yield ")"


def _exchange(one: Exchange) -> Iterator[str]:
    yield "                {"
    yield from _wrap_text(f'"pairs": {list(one.pairs)},', 20)
    yield from _field("take", one.take, 20)
    yield from _field("put", one.put, 20)
    yield "                },"


def _field(name: str, rows: Rows, indent: int) -> Iterator[str]:
    """Yield source lines of rows, per rank if rows differ."""
    blank = " " * indent
    if len(rows) == 1:
        yield from _wrap_text(f'"{name}": [{list(rows[0])}],', indent)
        return
    yield f'{blank}"{name}": ['
    for runs in rows:
        yield from _wrap_text(f"{list(runs)},", indent + 4)
    yield f"{blank}],"


def _wrap_text(text: str, indent: int) -> Iterator[str]:
    blank = " " * indent
    yield from textwrap.wrap(
        text, _WIDE, initial_indent=blank, subsequent_indent=f"{blank} ", break_long_words=False, break_on_hyphens=False
    )
