"""``topodesign compile``."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.base.atomic import names_directory, write_directory
from topodesign.base.entry_points import BACKENDS
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.options import Choice, collect_options, format_option
from topodesign.cli.answers import Command, form, json_option, print_answer, print_json, say
from topodesign.cli.options import SPEC, SectionOption, flag, offer, option, output_option, schedule_options
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import (
    check_ending,
    check_new,
    get_given_options,
    names_schedule,
    read_wired_place,
    refuse_choices,
    tell_of_names,
)
from topodesign.compiler.options import (
    CallOptions,
    ChakraOptions,
    CompileOptions,
    LibraryOptions,
    MscclppOptions,
    ProgramOptions,
)

if TYPE_CHECKING:
    from topodesign.collectives import Collective
    from topodesign.compiler.compilation import Compiled
    from topodesign.compiler.several import Part
    from topodesign.plans.plan import Plan

_SETTINGS = collect_options(CompileOptions)
_RUNTIMES = tuple(dict.fromkeys(name for backend in BACKENDS.values() for name in backend.runtimes))


@click.command(name="compile", cls=Command)
@click.argument("source", type=SPEC)
@schedule_options
@flag("--all-roots", "Of a collective with a root: a program for every root, in the directory that -o names.")
@option(
    "--target targets NAME...",
    "What reads the program; with --for none, or several: repeat it.  [default: msccl]",
    words=[*BACKENDS, "none"],
)
@option(
    "--for work WORKLOAD",
    "A library for a job, in the directory that -o names: for every call of a file of collectives, of a model, or of "
    "layers (.csv) the fastest program, or none if the runtime is as fast by itself. Or names of collectives, with "
    "commas between, or all: for all sizes.",
    cls=SectionOption,
)
@offer(LibraryOptions, "measured", section="Library")
@offer(
    ProgramOptions,
    "runtime",
    "protocol",
    "inplace",
    "channels",
    "parts",
    runtime=replace(_SETTINGS["runtime"], kind=Choice(_RUNTIMES)),
    section="Program",
)
@offer(CallOptions, section="Program")
@offer(ChakraOptions, section="Chakra traces")
@offer(MscclppOptions, section="MSCCL++ plans")
@output_option(
    "File to write (.xml, of mscclpp .json, of jax .py); of chakra, and of several programs, of groups, --all-roots or "
    "--for, the directory.",
    required=True,
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    source: str,
    collective: Collective,
    targets: tuple[str, ...],
    work: str | None,
    measured: Path | None,
    all_roots: bool,
    output: Path,
    **options: Any,
) -> None:
    """Compile a plan to a program or traces.

    Targets are MSCCL, MSCCL++, JAX and Chakra traces for ASTRA-sim.

    SOURCE is a spec (quote it), a file of links, a fabric (a file or a spec such as 'dgx_a100(2)'), or a schedule file
    (.npz), which decides on the collective and how it is done itself. The program is checked as `topodesign verify`
    does before it is written. Where the best trees of a fabric are too many for the runtime, it uses fewer and
    prints a note. --shards, --fail, --set trees and pipeline apply to tree schedules.

    --target chakra writes a directory: a trace for each rank, a workload that calls the collective once, the other
    files of the simulator, and the time that it should say. It is for calls of one --size.

    --target jax writes a module of Python that needs JAX alone: a function of ppermute, for jax.shard_map.

    A schedule of --group, or of --members on a topology, is a program for each group, whose members are its ranks in
    ascending order: group0.xml and so on, in the directory that -o names.

    A schedule whose circuits change is a program for each phase where -o names a directory: program0.xml and so on,
    and phases.json with the circuits that each needs and where input and output lie. A file has one program, which
    waits for no change; a module for jax has stages.

    No runtime looks at the root of a call: a program of a broadcast or reduce is used for calls of every root, with
    wrong data unless that is the program's. Load it only where all calls have this root; --all-roots writes one for
    each: root0.xml and so on.

    With --for a library: programs and plans for all calls of a job, each for its range of sizes, an index that
    PyTorch reads, and USE.md, with the variables that load them and the tests that they were used. After a failure make
    it again with --fail.

    Example: topodesign compile 'circulant(12,2,3)' --collective allreduce --inplace -o allreduce.xml
    """
    if work is not None:
        _write_library(context, source, work, targets, measured, output, options)
        return
    if measured is not None or len(targets) > 1 or "none" in targets:
        raise click.UsageError("--measured, --target none and several --target require --for")
    target = targets[0] if targets else "msccl"
    check_ending(output, "program")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # to check a module it is lowered, which takes no accelerator
    settings = {name: options.pop(name) for name in _SETTINGS if name in options}
    if all_roots:
        refuse_choices(context, "--all-roots", ("root", "method", "fixed_k", "only", "without", "group", "shards"))
        _write_roots(source, collective, target, settings, output)
        return
    if names_schedule(source):
        refuse_choices(context, source, ("collective", *options))
        with progress_bar("verifying"):
            from topodesign.plans.verify.plans import load_right  # noqa: PLC0415  NumPy, which help does without

            plan = load_right(source)
        _check_parts(plan, settings["parts"])
        if _write_parts(plan, target, settings, output):
            return
        with progress_bar("compiling"):
            made = topodesign.compile_plan(plan, target, **settings)
    else:
        with progress_bar("scheduling and compiling") as progress:
            first = None
            _refuse_early(source, collective, target, options, settings)
            if options["group"] or options["only"]:
                first = topodesign.schedule(source, collective, progress=progress, **options)
                if _is_of_groups(first):
                    _check_parts(first, settings["parts"])
                    _write_groups(first, target, settings, output)
                    return

            def make_plan(k: int | None) -> Plan:
                if k is None and first is not None:
                    return first
                fewer = {} if k is None else {"fixed_k": k}
                plan = topodesign.schedule(source, collective, progress=progress, **{**options, **fewer})
                _check_parts(plan, settings["parts"])
                return plan

            if options["fixed_k"] is None:
                made = topodesign.compile_fitting(make_plan, target, **settings)
            else:
                made = topodesign.compile_plan(make_plan(None), target, **settings)
    with progress_bar("checking"):
        made = made.checked()
    made.save(output)
    tell_of_names(made.plan.topology)
    _print(made, output)


def _write_roots(source: str, collective: Collective, target: str, settings: dict[str, Any], output: Path) -> None:
    """Compile a collective for every root, and write the programs."""
    if names_schedule(source):
        raise ParameterError(f"{source} is a schedule of one root; --all-roots is for a topology or a fabric")
    if not collective.rooted:
        raise ParameterError(f"{collective} has no root; remove --all-roots")
    from topodesign.compiler.several import compile_roots  # noqa: PLC0415  NumPy, which help does without

    def plan_of(root: int, k: int | None) -> Plan:
        return topodesign.schedule(source, collective, root=root, fixed_k=k)

    with progress_bar("scheduling and compiling"):
        _write_all(compile_roots(source, plan_of, target, **settings), output)


_OF_LIBRARIES = frozenset({"source", "work", "targets", "measured", "output", "as_json", "as_csv"})
_ASKED = ("group", "placement", "without", "dtype", "runtime", "bandwidth")


def _write_library(
    context: click.Context,
    source: str,
    work: str,
    targets: tuple[str, ...],
    measured: Path | None,
    output: Path,
    options: dict[str, Any],
) -> None:
    """Make a library for a job, and write its directory."""
    others = get_given_options(context) - _OF_LIBRARIES - {*_ASKED, "root", "alpha"}
    if others:
        raise click.UsageError(
            f"{', '.join(map(format_option, sorted(others)))} cannot be combined with --for; remove it"
        )
    if "none" in targets and len(targets) > 1:
        raise click.UsageError("--target none cannot be combined with another --target; remove one")
    check_new(output)
    asked: dict[str, Any] = {name: options[name] for name in _ASKED}
    asked |= {} if options["alpha"] is None else {"alpha": options["alpha"]}
    roots = () if options["root"] is None else (options["root"],)
    chosen = () if targets == ("none",) else targets or ("msccl",)
    place = read_wired_place(source)
    with progress_bar("making plans") as progress:
        made = topodesign.compile_library(
            place, work, targets=chosen, roots=roots, measured=measured, progress=progress, **asked
        )
    made.save(output)
    how = [f"how to load it, and the tests that it was used: {output / 'USE.md'}"] if made.use else []
    text = "\n".join([str(made), *made.notes, f"written to {output}", *how])
    print_answer(text, {**made.record(), "directory": str(output)}, made.to_records)


def _refuse_early(
    source: str, collective: Collective, target: str, options: dict[str, Any], settings: dict[str, Any]
) -> None:
    """Refuse plans that no schedule makes small enough."""
    from topodesign.compiler.beforehand import require_compilable  # noqa: PLC0415  NumPy, which help does without

    if options["group"] or options["only"]:
        return
    require_compilable(
        source,
        collective,
        target,
        method=options["method"],
        runtime=settings["runtime"],
        channels=settings["channels"],
        parts=settings["parts"],
    )


def _is_of_groups(plan: Plan) -> bool:
    """Return whether a plan has groups or several collectives."""
    return plan.collective.group is not None or bool(plan.collective.several)


def _write_parts(plan: Plan, target: str, settings: dict[str, Any], output: Path) -> bool:
    """Compile phases or groups of a plan and write their programs."""
    if plan.changes and target != "jax" and names_directory(output):
        _write_phases(plan, target, settings, output)
    elif _is_of_groups(plan):
        _write_groups(plan, target, settings, output)
    else:
        return False
    return True


def _write_phases(plan: Plan, target: str, settings: dict[str, Any], output: Path) -> None:
    """Compile the phases of a plan per group and write the programs."""
    from topodesign.compiler.phases import compile_phases  # noqa: PLC0415  NumPy, which help does without
    from topodesign.plans.plan_ops import split_groups  # noqa: PLC0415

    teams = plan.collective.single if plan.collective.group is not None else (plan.collective,)
    plans = [plan] if plan.collective.group is None else split_groups(plan)
    made = []
    with progress_bar("compiling and checking") as progress:
        for number, one in enumerate(plans):
            progress(number / len(teams))
            made.append(compile_phases(one, target, **settings).checked())
    if len(made) == 1:
        made[0].save(output)
    else:
        write_directory(output, {f"group{number}": one.save for number, one in enumerate(made)})
    records = []
    for number, (some, team) in enumerate(zip(made, teams, strict=True)):
        folder = output / f"group{number}" if len(made) > 1 else output
        nodes = [str(node) for node in team.group or range(plan.topology.nodes)]
        for phase, program in zip(some.manifest.phases, some.programs, strict=True):
            about = {"program": program.heading(), "ranks": nodes, "notes": list(some.notes)}
            records.append({**about, "file": str(folder / phase.program)})
    lines = [f"{one['file']}: {one['program']}" for one in records]
    text = "\n".join([str(made[0].report), *made[0].notes, *lines])
    print_answer(text, {"programs": records}, lambda: records)


def _write_groups(plan: Plan, target: str, settings: dict[str, Any], output: Path) -> None:
    """Compile the groups of a plan, and write the programs."""
    from topodesign.compiler.several import compile_groups  # noqa: PLC0415  NumPy, which help does without

    _write_all(compile_groups(plan, target, **settings), output)


def _write_all(programs: tuple[Part, ...], output: Path) -> None:
    """Check programs and write them to a directory, or one to a file."""
    alone = len(programs) == 1 and not names_directory(output)
    if programs[0].compiled.backend.directory:
        alone = False
    if not alone and (output.suffix in {".xml", ".json"} or (output.exists() and not output.is_dir())):
        raise ParameterError(f"these are {len(programs)} programs; name a directory with -o, not the file {output}")
    checked = []
    with progress_bar("checking") as progress:
        for number, one in enumerate(programs):
            progress(number / len(programs))
            checked.append((one, one.compiled.checked()))
    if alone:
        checked[0][1].save(output)
    elif programs[0].compiled.backend.directory:
        _make_directory(output)
        for one, made in checked:
            made.save(output / one.name)
    else:
        files = [(f"{one.name}{ending}", content) for one, made in checked for ending, content in made.files.items()]
        write_directory(output, {name: content.decode() for name, content in files})
    records = []
    for one, made in checked:
        ending = "" if made.backend.directory else made.backend.ending
        path = output if alone else output / f"{one.name}{ending}"
        records.append(
            {"program": made.heading(), "ranks": list(one.names), "notes": list(made.notes), "file": str(path)}
        )
    common = [note for note in checked[0][1].notes if all(note in made.notes for _, made in checked)]
    text = "\n".join([*(f"{one['file']}: {one['program']}" for one in records), *common])
    print_answer(text, {"programs": records}, lambda: records)


def _make_directory(output: Path) -> None:
    """Make a directory for those of several programs."""
    try:
        output.mkdir(exist_ok=True)
    except OSError as error:
        raise FileFormatError(f"{output}: {error.strerror or error}") from None


def _check_parts(plan: Plan, parts: int) -> None:
    if parts > 1 and plan.trees is None:
        raise ParameterError("--set pipeline requires a tree schedule; remove it")


def _print(made: Compiled, output: Path) -> None:
    """Print the properties of the program and its path."""
    trees = made.plan.trees is not None
    best = made.plan.notes if trees and made.fewer_trees is None else ()
    if form() == "text":
        found = made.heading() if made.report is None else str(made.report)
        shares = [f"  {made.sharing}"] if "threadblocks" in made.backend.takes else []
        say("\n".join([found, *shares, *best, *made.notes, f"written to {output}"]))
        return
    about: dict[str, Any] = {"program": made.heading()} if made.report is None else made.report.record()
    if trees:
        about["fewer_trees"] = made.fewer_trees
        about["allreduce"] = best[0] if best else None
    if "threadblocks" in made.backend.takes:
        about["threadblocks"] = asdict(made.sharing)
    if "dtype" in made.backend.takes:
        about["cut"] = None if made.cut is None else made.cut.record()
    print_json({**about, "notes": list(made.notes), "file": str(output)})
