"""``topodesign doctor``, ``examples`` and ``kernels``."""

from __future__ import annotations

from pathlib import Path

import click

import topodesign
from topodesign.base.entry_points import BACKENDS
from topodesign.base.wording import count_noun
from topodesign.cli.answers import Command, json_option, print_answer, tell
from topodesign.cli.options import FOLDER, PATH, jobs_option, option
from topodesign.cli.progress import progress_bar


@click.command(name="doctor", cls=Command)
@click.argument("log", type=PATH, required=False)
@option(
    "--program",
    "The program that should have run, MSCCL XML or an MSCCL++ plan: each kind of calls is held against it.",
    type=PATH,
)
@option(
    "--call calls COLLECTIVE:SIZE:TYPE...",
    "Before a run, in place of LOG: whether the runtime will use --program for such a call, such as "
    "allreduce:64MiB:bf16, or allreduce:64MiB:bf16:in-place. SIZE is that of the collective's whole data. May be "
    "repeated.",
)
@option("--runtime NAME", "Of --call: whose rule holds for MSCCL XML.", words=BACKENDS["msccl"].runtimes)
@json_option
def doctor(log: Path | None, program: Path | None, calls: tuple[str, ...], runtime: str | None) -> int:
    """Read the log of a run: was a program loaded, which calls did it run, and if none, why not.

    LOG is what NCCL, RCCL, msccl or MSCCL++ wrote, with lines of others in between. Run with NCCL_DEBUG=INFO and
    NCCL_DEBUG_SUBSYS=INIT,ENV,COLL,TUNING, or with MSCCLPP_LOG_LEVEL=INFO for MSCCL++. Exit status 1 unless the program
    ran all calls that it is for. With --call nothing has to run: the rule of the runtime decides whether it uses the
    program, and the nearest sizes that it serves are named; exit status 1 unless it serves all of them.

    Example: topodesign doctor run.log --program ar.xml
    """
    if calls:
        if log is not None or program is None:
            raise click.UsageError("--call requires --program, and cannot be combined with LOG.")
        checked = [topodesign.check_call(program, call, runtime) for call in calls]
        records = [one.record() for one in checked]
        print_answer("\n".join(map(str, checked)), {"calls": records}, lambda: records)
        return 0 if all(one.ok for one in checked) else 1
    if log is None:
        raise click.UsageError("doctor requires the LOG of a run, or --program and --call.")
    if runtime is not None:
        raise click.UsageError("--runtime requires --call; a log names its runtime.")
    with progress_bar("reading"):
        found = topodesign.doctor(log, program)
    tell(found)
    return 0 if found.ok else 1


@click.command(name="examples", cls=Command)
@click.argument("names", nargs=-1)
@option("-o --output DIR", "Directory to copy to; made if it is not there.  [default: the current one]", type=FOLDER)
@json_option
def examples(names: tuple[str, ...], output: Path | None) -> None:
    """List the example files that come with the program, or copy some of them.

    They are fabrics, inventories and workloads to try the commands with and to start own files from. Without NAMES all
    are listed; a file that is there already is never written over.

    Example: topodesign examples inventory_testbed.yaml observed_testbed.csv -o testbed
    """
    if not names and output is not None:
        raise click.UsageError("-o requires the names of examples; 'topodesign examples' lists them.")
    if not names:
        known = topodesign.examples()
        width = max(len(example.name) for example in known)
        records = [example.record() for example in known]
        lines = (f"{example.name:<{width}}  {example.about}" for example in known)
        print_answer("\n".join(lines), {"examples": records}, lambda: records)
        return
    copied = list(map(str, topodesign.copy_examples(names, output or Path())))
    said = f"{count_noun(len(copied), 'file')} copied: {', '.join(copied)}"
    print_answer(said, {"files": copied}, lambda: [{"file": path} for path in copied])


@click.command(name="kernels", cls=Command)
@jobs_option
@json_option
def kernels(jobs: int | None) -> None:
    """Precompile the numerical kernels of the main commands.

    Without it each command compiles what it needs on its first use, which takes up to a quarter of a minute. What is
    compiled already, or came with the package, is left alone; another version of the program or of Numba, or another
    processor, needs it again.

    Example: topodesign kernels
    """
    with progress_bar("compiling") as progress:
        warmed = topodesign.compile_kernels(workers=jobs, progress=progress)
    tell(warmed, warmed.heading())
