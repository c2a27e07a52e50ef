"""Command lines made of what belongs there and what does not: each ends with 0, 1 or 2, without a traceback."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

from topodesign.cli.main import COMMANDS, run

LIMITS = 'ulimit -v 3145728 -t 60; exec "$@"'
"""3 GiB of memory and a minute."""
WORDS = (
    *("--json", "--help", "-o", "-n", "-d", "8", "4", "-1", "1e999", "0", "--size", "0B", "1MiB", "1e-400B", "nan"),
    *(
        "--alpha",
        "--bandwidth",
        "--algorithm",
        "spff",
        "forest",
        "--collective",
        "allgather",
        "--chunks",
        "--csv",
        "--root",
    ),
    *("circulant(6,1,2)", "circulant(", "dgx_a100(2)", "p.npz", "p.xml", "w.json", "x.txt", "missing", "/dev/zero"),
    *("/dev/null", ".", "\u20ac", "=1", "a" * 5000, "(" * 500, "\udc80", "", "--", "-", "@x", "--seed", "--catalog"),
    *("plan", "check", "export", "change", "show", "list", "verify", "1..3", "9..1", "--fail", "0-1", "--only", "*"),
)
LONG = {"pareto", "catalog"}
"""Commands that search: the lines of the quick run omit them."""


def made(folder: Path) -> None:
    """Put files into a folder that lines can name."""
    folder.mkdir(exist_ok=True)
    for words in (
        ["schedule", "circulant(6,1,2)", "-o", str(folder / "p.npz")],
        ["compile", "circulant(6,1,2)", "--collective", "allgather", "-o", str(folder / "p.xml")],
    ):
        with swallowed():
            run(words)
    (folder / "w.json").write_text('{"nodes": 2, "links": [[0, 1], [1, 0]]}')


@contextlib.contextmanager
def swallowed() -> Iterator[io.StringIO]:
    """Keep what is printed from the terminal; yields the messages."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as messages:
        yield messages


def tries(count: int, seed: int, folder: Path, *, limited: bool) -> Counter[int]:
    """Run lines drawn at random in a folder, each in a process with limits or all in this one; count exit statuses.

    Raises
    ------
    RuntimeError
        If one ends in another way, or prints a traceback; the message has the line.
    """
    random = Random(seed)  # noqa: S311
    made(folder)
    seen = Counter[int]()
    names = sorted(set(COMMANDS) - (set() if limited else LONG))
    for _ in range(count):
        line = [random.choice(names), *random.choices(WORDS, k=random.randint(0, 7))]
        status, messages = _in_process(line, folder) if limited else _here(line, folder)
        if status not in {0, 1, 2} or "Traceback" in messages:
            raise RuntimeError(f"{line} ends with {status}: {messages[-2000:]}")
        seen[status] += 1
    return seen


def _here(line: list[str], folder: Path) -> tuple[int, str]:
    with contextlib.chdir(folder), swallowed() as messages:
        status = run(line)
    return status, messages.getvalue()


def _in_process(line: list[str], folder: Path) -> tuple[int, str]:
    words = ["bash", "-c", LIMITS, "-", sys.executable, "-m", "topodesign", *line]
    done = subprocess.run(words, capture_output=True, timeout=600, check=False, cwd=folder)
    return done.returncode, done.stderr.decode(errors="replace")


def text(seen: Counter[int]) -> str:
    """Return a line for the table."""
    return f"command lines: {seen.total()}, of which ended with {dict(sorted(seen.items()))}"
