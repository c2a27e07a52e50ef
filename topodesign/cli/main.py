"""The ``topodesign`` program."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

import click

from topodesign.base.errors import InfeasibleError, TopodesignError
from topodesign.base.fitted import columns_of, fit_lines
from topodesign.base.version import __version__
from topodesign.base.wording import nearest
from topodesign.cli.interrupt import Ended, in_order, will_tell
from topodesign.cli.lazy import LazyGroup

SECTIONS = {
    "Design": {
        "pareto": "Find the best topologies for N nodes with d ports.",
        "evaluate": "Compute cost, throughput and bottleneck of a network.",
        "compare": "Compare designs and algorithms.",
        "upgrade": "Find the cheapest links to reach a throughput.",
        "training": "Compute the time of a training step.",
        "design": "Turn requirements into a recommendation with files.",
    },
    "Plans and programs": {
        "schedule": "Schedule a collective and write the plan.",
        "verify": "Check a plan, program, traces or plan directory.",
        "simulate": "Compute completion times, also with failures.",
        "compile": "Compile a plan, or a library of programs for a job.",
        "run": "Run a plan with real data over threads, MPI or PyTorch.",
        "reconfigure": "Schedule a collective with changing circuits.",
        "doctor": "Read a runtime log: was the program used?",
    },
    "Failures": {
        "failures": "Rank single failures by their cost.",
        "repair": "Repair a plan or a wiring after failures.",
    },
    "Wiring": {
        "wire": "Plan, export, check and change the wiring of a topology.",
    },
    "Files": {
        "convert": "Write a network to a file, or read one from a machine.",
        "info": "List families, fabrics, algorithms, runtimes, plugins.",
        "examples": "Copy example files.",
    },
    "Maintainers": {
        "catalog": "Look up, verify, build and improve the catalog.",
        "kernels": "Precompile numerical kernels.",
    },
}
"""Commands by section in the order of the help text; each is in the module of that name in this folder, or else in:"""
_TOGETHER = {
    "comparing": "compare training",
    "about": "doctor examples kernels",
}
COMMANDS = {name: about for section in SECTIONS.values() for name, about in section.items()}
"""All of them, with what the help text says."""


_NO_THREAD = "can't start new thread"  # what Python says, as a RuntimeError


@click.group(
    cls=LazyGroup,
    package="topodesign.cli",
    table=COMMANDS,
    sections=SECTIONS,
    together=_TOGETHER,
    epilog="Run 'topodesign COMMAND --help' for options.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="topodesign")
def program() -> None:
    """Design direct-connect networks for AI training and schedule collectives.

    Start with: topodesign pareto -n 1024 -d 4
    """


def main(args: Sequence[str] | None = None) -> None:
    """Run the program and exit.

    The status is 0 on success, 1 where the answer is no, 2 on bad usage or bad input or where it cannot be printed, and
    128 and the number of the signal where one ended it: 130 for an interrupt.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a letter that the terminal lacks is no reason to stop
    status = run(args)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:  # what is left in the buffer must not fail again while Python shuts down
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not status and not isinstance(error, BrokenPipeError):
            with contextlib.suppress(OSError):
                click.echo(f"topodesign: cannot print: {error.strerror or error}", err=True)
            status = 2
    sys.exit(status)


def run(args: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status.

    Every error of the input is one message on standard error.
    """
    try:
        with in_order():
            status: Any = program.main(args=args, prog_name="topodesign", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except SystemExit:  # so click and rich end when the reader of our output is gone: nothing is left to say
        return 0
    except (Ended, KeyboardInterrupt, click.exceptions.Abort) as error:  # click makes aborts of interrupts
        will_tell()
        return _print_error(error, error.status if isinstance(error, Ended) else 130)
    except (click.ClickException, TopodesignError, MemoryError, OSError, ImportError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and _NO_THREAD not in str(error):
            raise
        return _print_error(error, 1 if isinstance(error, InfeasibleError) else 2)
    return status if isinstance(status, int) else 0


def _print_error(error: BaseException, status: int) -> int:
    """Print an error if possible, wrapped to a terminal, and return the exit status."""
    with contextlib.suppress(OSError):
        closed = isinstance(error, OSError) and error.errno == errno.EBADF
        text = f"topodesign: {'cannot print: standard output is closed' if closed else _words(error)}"
        width = columns_of(sys.stderr) if sys.stderr is not None and sys.stderr.isatty() else None
        click.echo(text if width is None else fit_lines(text, width), err=True)
    return status


def _words(error: BaseException) -> str:
    if isinstance(error, Ended | KeyboardInterrupt | click.exceptions.Abort):
        return "interrupted"
    if isinstance(error, MemoryError):
        return "not enough memory for a topology of this size"
    if isinstance(error, ImportError) and not isinstance(error, TopodesignError):
        return (
            f"a library cannot be loaded ({' '.join(str(error).split())}); is memory short, or the installation broken?"
        )
    if isinstance(error, RuntimeError):
        return "the machine lets no more threads be started; free memory, or raise its limits (ulimit -u, ulimit -v)"
    if isinstance(error, click.UsageError) and error.ctx is not None:
        said = " ".join(error.format_message().split())
        return f"{said}{_meant(said, error.ctx)} See '{error.ctx.command_path} --help'."
    return str(error)


def _meant(said: str, context: click.Context) -> str:
    """Return the known word that was probably meant, if the message has none."""
    if said.startswith("No such command") and "Did you mean" not in said and isinstance(context.command, click.Group):
        return f" Commands are {', '.join(context.command.list_commands(context))}."
    match = re.search(r": '(.{1,50})' is not one of (.*)\.$", said)
    near = nearest(match[1], re.findall("'([^']*)'", match[2]), most=1) if match else []
    return f" Did you mean '{near[0]}'?" if near else ""
