"""``topodesign verify``."""

from __future__ import annotations

import os
from pathlib import Path

import click

import topodesign
from topodesign.base.errors import ParameterError
from topodesign.base.file_kinds import FileKind, kind_of, refuse_others
from topodesign.base.text_files import begins_as_json, begins_as_module, begins_as_xml
from topodesign.cli.answers import Command, json_option, print_answer
from topodesign.cli.options import PATH, SPEC, option, runtime_option
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import read_wired_place
from topodesign.runtime.chakra.traces import is_trace_name


@click.command(name="verify", cls=Command)
@click.argument("file", type=PATH)
@runtime_option
@option("--network wiring NETWORK", "Of a set of plans: what is wired, which it has to be for.", type=SPEC)
@json_option
def command(file: Path, runtime: str, wiring: str | None) -> int:
    """Check a plan, a program, traces or a directory of plans.

    Which of them FILE is, its first bytes tell. A schedule is replayed symbolically (of one of trees, every tree, route
    and link load is checked), its cost recomputed and its topology rebuilt. An XML file, ours or not, is read as
    strictly as the runtime does and executed on real integers under its limits; deadlocks, races and wrong results in
    any order are reported. So is an execution plan, over several launches, and signals that are lost. Traces are named
    by their directory or by one of their files, and replayed by all ranks together: whether messages match, nothing
    waits for ever, all data arrive whatever the order, and how long ASTRA-sim takes. Of a module for JAX the data are
    replayed, and where JAX is installed the StableHLO that it makes of them; code that is not ours is not executed.
    Programs by phase are named by their directory, and run one after another on one memory. Of a set all plans and
    programs are checked so, and against the index and the links. Exit status 1 if it is wrong.

    Example: topodesign verify ring.npz
    """
    if not is_trace_name(file):
        refuse_others(file, FileKind.PLAN, FileKind.PROGRAM, FileKind.PLAN_SET, FileKind.PHASES)
    sort = kind_of(file)
    is_set = sort is FileKind.PLAN_SET
    if wiring is not None and not is_set:
        raise ParameterError("--network requires a set of plans; remove it")
    if is_set:
        with progress_bar("checking") as progress:
            wired = None if wiring is None else read_wired_place(wiring)
            found = topodesign.check_plan_set(file, wired, runtime=runtime, progress=progress)
        document, text, right = found.record(), str(found), found.ok
    elif sort is FileKind.PHASES:
        with progress_bar("checking"):
            row = topodesign.check_phases(file)
        document, text, right = row.record(), str(row), row.ok
    elif is_trace_name(file):
        with progress_bar("replaying"):
            replayed = topodesign.check_traces(file)
        document, text, right = replayed.record(), str(replayed), replayed.ok
    elif begins_as_module(file) or begins_as_xml(file) or begins_as_json(file):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")  # it lowers a module, and takes no accelerator for that
        with progress_bar("checking"):
            check = topodesign.check_file(file, runtime)
        document, text, right = check.record(), str(check), check.ok
    else:
        with progress_bar("verifying"):
            report = topodesign.verify(topodesign.load_plan(file))
        from topodesign.report.scheduled import make_report  # noqa: PLC0415  not for help

        made = make_report(report.plan)
        document, text, right = made.checked(report), made.verdict(report), report.ok
    print_answer(text, document)
    return 0 if right else 1
