"""``topodesign compile``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import topodesign
from topodesign.base.atomic import write_directory
from topodesign.base.doors import BACKENDS
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.cli.completion import SPEC
from topodesign.cli.options import (
    collective_option,
    group_options,
    json_option,
    method_options,
    print_json,
    progress_bar,
    say,
    tree_options,
)
from topodesign.cli.sources import check_ending, names_schedule, tell_of_names
from topodesign.compiler.ir import PROTOCOLS, THREADBLOCKS, Protocol, Threadblocks

if TYPE_CHECKING:
    from topodesign.collectives import Collective
    from topodesign.compiler.compilation import Compiled
    from topodesign.compiler.fitting import Settings
    from topodesign.compiler.several import Part
    from topodesign.plans.plan import Plan

_RUNTIMES = list(dict.fromkeys(name for backend in BACKENDS.values() for name in backend.runtimes))


@click.command(name="compile")
@click.argument("source", type=SPEC)
@collective_option
@method_options
@tree_options
@group_options
@click.option(
    "--all-roots",
    is_flag=True,
    help="Of a collective with a root: a program for every root, in the directory that -o names.",
)
@click.option(
    "--target", type=click.Choice(list(BACKENDS)), default="msccl", show_default=True, help="What reads the program."
)
@click.option(
    "--runtime",
    type=click.Choice(_RUNTIMES),
    help="Whose limits and rules the program has to keep; without it those of the first runtime of the target, msccl "
    "for msccl. msccl-executor is built for 64 steps per threadblock by default; msccl-executor-256 is a build of it "
    "with MSCCL_MAX_NUM_STEPS=256.",
)
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    default="Simple",
    show_default=True,
    help="Wire protocol: Simple for large messages, LL and LL128 for small ones.",
)
@click.option("--inplace/--out-of-place", default=False, show_default=True, help="Which calls the program is for.")
@click.option(
    "--channels",
    type=click.IntRange(1, 32),
    default=1,
    show_default=True,
    help="Split every chunk over so many channels; of trees, share them out among so many.",
)
@click.option(
    "--parts",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Of trees: parts of the data of a tree that follow one another.",
)
@click.option(
    "--threadblocks",
    type=click.Choice(THREADBLOCKS),
    default="auto",
    show_default=True,
    help="Whether what sends and what receives share threadblocks: auto as far as both go on at full speed, for which "
    "large messages are cut; merged wherever it can be, with the fewest instructions, but large messages one way at a "
    "time; separate not unless there are too many.",
)
@click.option(
    "--min-size",
    metavar="SIZE",
    help="Smallest call that the runtime uses the program for, such as 1MiB of the collective's whole data.",
)
@click.option(
    "--max-size",
    metavar="SIZE",
    help="Largest call that the runtime uses the program for, itself included; a built-in algorithm runs larger ones. "
    "Without it there is none, but for msccl, which takes scratch memory for the largest call when a communicator "
    "starts: there it is the largest power of two up to 4 GiB for which no rank takes more than 1 GiB, if the program "
    "has scratch.",
)
@click.option(
    "--size",
    metavar="SIZE",
    help="Of chakra: the call that the traces are for, such as 16MiB of the collective's whole data; 1MiB without it.",
)
@click.option("--alpha", metavar="TIME", help="Of chakra: latency of a link in the simulator; 10us without it.")
@click.option(
    "--bandwidth",
    metavar="RATE",
    help="Of chakra: bandwidth of all links of a node together in the simulator; 100Gbps without it.",
)
@click.option(
    "--box",
    type=click.IntRange(1),
    help="Of mscclpp: ranks of a box, which have consecutive numbers; memory channels are inside a box, port channels "
    "between boxes. Without it the names of a fabric's nodes tell, such as box0/gpu3, and else all are in one box.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="File to write (.xml, of mscclpp .json); of chakra, and of several programs, of groups or --all-roots, the "
    "directory.",
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    source: str,
    collective: Collective,
    target: str,
    runtime: str | None,
    protocol: Protocol,
    inplace: bool,
    channels: int,
    parts: int,
    threadblocks: Threadblocks,
    min_size: str | None,
    max_size: str | None,
    size: str | None,
    alpha: str | None,
    bandwidth: str | None,
    box: int | None,
    all_roots: bool,
    output: Path,
    as_json: bool,
    **options: Any,
) -> None:
    """Compile a schedule to an MSCCL program, an MSCCL++ execution plan, or Chakra traces for ASTRA-sim.

    SOURCE is a spec (quote it), a file of links, a fabric (a file or a spec such as 'dgx_a100(2)'), or a schedule file
    (.npz), which decides on the collective and how it is done itself. The program is checked as `topodesign verify`
    does before it is written. Where the best trees of a fabric are too many for the runtime, fewer are taken, and it
    is said. --fixed-k, --shards, --without and --parts are for trees.

    --target chakra writes a directory: a trace for each rank, a workload that calls the collective once, the other
    files of the simulator, and the time that it should say. It is for calls of one --size.

    A schedule of --group, or of --only on a topology, is a program for each group, whose members are its ranks in
    ascending order: group0.xml and so on, in the directory that -o names.

    No runtime looks at the root of a call: a program of a broadcast or reduce is used for calls of every root, with
    wrong data unless that is the program's. Load it only where all calls have this root; --all-roots writes one for
    each: root0.xml and so on.

    Example: topodesign compile 'circulant(12,2,3)' --collective allreduce --inplace -o allreduce.xml
    """
    check_ending(output, "program")
    settings: Settings = {
        "runtime": runtime,
        "protocol": protocol,
        "inplace": inplace,
        "channels": channels,
        "parts": parts,
        "threadblocks": threadblocks,
        "min_size": min_size or 0,
        "max_size": max_size,
        "size": size,
        "alpha": alpha,
        "bandwidth": bandwidth,
        "box": box,
    }
    if all_roots:
        _refuse_choices(context, "--all-roots", ("root", "method", "fixed_k", "only", "without", "group", "shards"))
        if names_schedule(source):
            raise ParameterError(f"{source} is a schedule of one root; --all-roots is for a topology or a fabric")
        with progress_bar("scheduling and compiling"):
            from topodesign.compiler.several import compile_roots  # noqa: PLC0415  NumPy, which help does without

            def plan_of(root: int, k: int | None) -> Plan:
                return topodesign.schedule(source, collective, root=root, fixed_k=k)

            if not collective.rooted:
                raise ParameterError(f"{collective} has no root; leave --all-roots out")
            _write_all(compile_roots(source, plan_of, target, **settings), output, as_json)
        return
    if names_schedule(source):
        _refuse_choices(context, source, ("collective", *options))
        with progress_bar("verifying"):
            from topodesign.plans.replay.plans import load_right  # noqa: PLC0415  NumPy, which help does without

            plan = load_right(source)
        _check_parts(plan, parts)
        if _is_of_groups(plan):
            _write_groups(plan, target, settings, output, as_json)
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
                    _check_parts(first, parts)
                    _write_groups(first, target, settings, output, as_json)
                    return

            def make_plan(k: int | None) -> Plan:
                if k is None and first is not None:
                    return first
                fewer = {} if k is None else {"fixed_k": k}
                plan = topodesign.schedule(source, collective, progress=progress, **{**options, **fewer})
                _check_parts(plan, parts)
                return plan

            if options["fixed_k"] is None:
                made = topodesign.compile_fitting(make_plan, target, **settings)
            else:
                made = topodesign.compile_plan(make_plan(None), target, **settings)
    with progress_bar("checking"):
        made = made.checked()
    made.save(output)
    tell_of_names(made.plan.topology)
    _print(made, output, as_json)


def _refuse_early(
    source: str, collective: Collective, target: str, options: dict[str, Any], settings: Settings
) -> None:
    """Refuse what no schedule makes small enough before one is made; groups are smaller than the place."""
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
    """Whether a plan is of groups of nodes or of several collectives, which have programs of their own."""
    return plan.collective.group is not None or bool(plan.collective.several)


def _write_groups(plan: Plan, target: str, settings: Settings, output: Path, as_json: bool) -> None:
    """Compile the groups of a plan, and write the programs."""
    from topodesign.compiler.several import compile_groups  # noqa: PLC0415  NumPy, which help does without

    _write_all(compile_groups(plan, target, **settings), output, as_json)


def _write_all(programs: tuple[Part, ...], output: Path, as_json: bool) -> None:
    """Check programs and write them into a directory; one may be a file."""
    alone = len(programs) == 1 and bool(output.suffix)
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
        names = made.plan.place.names if isinstance(made.plan.place, topodesign.Fabric) else None
        called = [str(node) if names is None else names[node] for node in one.nodes]
        records.append({"program": made.heading(), "ranks": called, "notes": list(made.notes), "file": str(path)})
    if as_json:
        print_json({"programs": records}, records)
    else:
        common = [note for note in checked[0][1].notes if all(note in made.notes for _, made in checked)]
        say("\n".join([*(f"{one['file']}: {one['program']}" for one in records), *common]))


def _make_directory(output: Path) -> None:
    """Make a directory for those of several programs."""
    try:
        output.mkdir(exist_ok=True)
    except OSError as error:
        raise FileFormatError(f"{output}: {error.strerror or error}") from None


def _refuse_choices(context: click.Context, source: str, names: tuple[str, ...]) -> None:
    """Refuse options that a schedule has decided."""
    given = [name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given:
        words = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ParameterError(f"{source} is a schedule already, which decides {words}; leave that out")


def _check_parts(plan: Plan, parts: int) -> None:
    if parts > 1 and plan.kind != "trees":
        raise ParameterError("--parts is for trees; leave it out")


def _print(made: Compiled, output: Path, as_json: bool) -> None:
    """Print what was found out about the program, and where it is."""
    trees = made.plan.kind == "trees"
    best = made.plan.notes if trees and made.fewer_trees is None else ()
    if not as_json:
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
    print_json({**about, "notes": list(made.notes), "file": str(output)})
