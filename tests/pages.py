"""The pages of documentation as programs: all commands and all Python in them run, and print what is shown.

What a page may hold, beside prose:

* an indented block: a console. Lines that begin with ``$`` are commands (a backslash continues one), and what follows a
  command is what it prints in a terminal of 80 columns, messages included. A command with nothing below it has to
  succeed, and no more;
* a block fenced as ``python``: a session with ``>>>`` and what is printed, or plain code, with one set of names a page;
* a block after ``<!-- file: NAME -->``: a file of that name, for the commands after it;
* a block after ``<!-- thorough: why -->``: as others, but quick runs of the tests omit it, and a page has others
  like it that they run;
* a block after ``<!-- not run: why -->``, and one fenced as anything else, is looked at by nobody.

A line ``...`` stands for any lines, and ``...`` within a line for any text. All of a page runs in one empty directory.

``python -m tests.pages`` runs all pages, writes what is printed today into them and the pictures that they show beside
them, renders the tutorial, and writes the notebooks and the fields of inventories.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from rich.console import Console

from topodesign.base.errors import TopodesignError
from topodesign.base.records import Result
from topodesign.cli.main import run
from topodesign.report.table import print_result
from topodesign.wiring.inventory.fields import REQUIRED, Choice, Entries, Inner, Share, Table, table_of
from topodesign.wiring.inventory.inventory import Inventory

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
TUTORIAL = ROOT / "docs" / "tutorial.py"
NOTEBOOK = ROOT / "docs" / "notebook.py"
DECISION = ROOT / "docs" / "decision.py"  # whose notebook has its outputs
INVENTORY = ROOT / "docs" / "inventory.md"
TERMINAL = {"TERM": "xterm", "COLUMNS": "80", "NO_COLOR": "1"}
SHELL = frozenset({"cat", "head", "ls", "wc"})
"""Programs that pages may call beside ours."""
WIDEST = 120
"""Characters of a line of what the tutorial shows; wider tables are drawn as for a terminal."""

_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_LEFT = re.compile(r"^topodesign: .*: about \d+ \w+ left\n", re.MULTILINE)
_DIRECTIVE = re.compile(r"<!-- (file|not run|thorough): (.+) -->")


class PageError(Exception):
    """A page says something that cannot be run."""


@dataclass(frozen=True)
class Block:
    """A block of a page: where it is, what it is, and what is known about it."""

    first: int
    """The place of its first line among those of the page."""
    lines: tuple[str, ...]
    language: str
    """That of the fence; ``console`` for an indented block."""
    directive: str = ""
    """``file``, ``not run``, ``thorough`` or nothing."""
    argument: str = ""
    indent: str = ""


@dataclass(frozen=True)
class Step:
    """A command or statement with what a page shows below it."""

    source: str
    first: int
    """The place of the first line of what is shown."""
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Mismatch:
    """What a step printed where the page shows something else."""

    step: Step
    indent: str
    got: tuple[str, ...]

    def __str__(self) -> str:
        shown, got = ("\n".join(f"    {line}" for line in lines) for lines in (self.step.shown, self.got))
        return f"line {self.step.first}: {self.step.source}\n  shown:\n{shown}\n  printed:\n{got}"


def blocks(lines: list[str]) -> Iterator[Block]:
    """Yield the blocks of a page."""
    directive, place = ("", ""), 0
    while place < len(lines):
        line = lines[place]
        if fence := re.fullmatch(r"```(\w*)", line):
            end = lines.index("```", place + 1)
            yield Block(place + 1, tuple(lines[place + 1 : end]), fence[1], *directive)
            directive, place = ("", ""), end + 1
        elif line.startswith("    ") and not (place and lines[place - 1].strip()):
            end = place
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            while not lines[end - 1].strip():
                end -= 1
            yield Block(place, tuple(one[4:] for one in lines[place:end]), "console", *directive, indent="    ")
            directive, place = ("", ""), end
        else:
            if line.strip():
                found = _DIRECTIVE.fullmatch(line)
                directive = (found[1], found[2]) if found else ("", "")
            place += 1


def steps(block: Block, prompt: str, more: str) -> Iterator[Step]:
    """Yield the commands of a console or the statements of a session."""
    lines, place = block.lines, 0
    if not lines[0].startswith(prompt):
        raise PageError(f"line {block.first + 1}: begin with {prompt!r}, or say what the block is")
    while place < len(lines):
        source = [lines[place].removeprefix(prompt)]
        place += 1
        while place < len(lines) and (source[-1].endswith("\\") if prompt == "$ " else lines[place].startswith(more)):
            source.append(lines[place].removeprefix(more).removeprefix(more.rstrip()))
            place += 1
        begin = place
        while place < len(lines) and not lines[place].startswith(prompt):
            place += 1
        yield Step("\n".join(source), block.first + begin, without_blank_end(lines[begin:place]))


def without_blank_end(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return lines without blanks at their ends, and without blank lines at the end."""
    stripped = [line.rstrip() for line in lines]
    while stripped and not stripped[-1]:
        stripped.pop()
    return tuple(stripped)


def agree(shown: tuple[str, ...], got: tuple[str, ...]) -> bool:
    """Return whether what is shown is what was printed, elisions aside."""
    parts = ["(?:.*\n)*" if line.strip() == "..." else _line(line) for line in shown]
    return re.fullmatch("".join(parts), "".join(f"{line}\n" for line in got)) is not None


def _line(shown: str) -> str:
    return ".*".join(map(re.escape, shown.split("..."))) + "\n"


class _Screen(io.StringIO):
    """Standard output as a terminal."""

    def isatty(self) -> bool:
        return True


class _Messages(io.TextIOBase):
    """Standard error: no terminal, so without progress bars, but on the same screen."""

    def __init__(self, screen: io.StringIO) -> None:
        self.screen = screen

    def write(self, text: str) -> int:
        return self.screen.write(text)


def printed(screen: io.StringIO) -> tuple[str, ...]:
    """Return what was printed, without what a slow machine says of the time that is left."""
    return without_blank_end(tuple(_LEFT.sub("", _STYLE.sub("", screen.getvalue())).split("\n")))


def run_command(source: str) -> tuple[int, tuple[str, ...]]:
    """Run a command line here, in this process where it is ours, and return its status and what it printed."""
    words = shlex.split(source.replace("\\\n", " "), comments=True)
    if words[0] in SHELL:
        done = subprocess.run(words, text=True, capture_output=True, timeout=600, check=False)
        return done.returncode, without_blank_end(tuple((done.stdout + done.stderr).split("\n")))
    if words[0] != "topodesign":
        raise PageError(f"{words[0]!r} is no program that pages run; say <!-- not run: why -->")
    screen = _Screen()
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(_Messages(screen)):
        status = run(words[1:])
    return status, printed(screen)


def run_statement(source: str, names: dict[str, Any]) -> tuple[str, ...]:
    """Run a statement as the prompt of Python does, and return what it prints."""
    screen = io.StringIO()
    with contextlib.redirect_stdout(screen):
        try:
            exec(compile(source + "\n", "<page>", "single"), names)  # noqa: S102  our own pages
        except TopodesignError as error:  # shown as Python shows it; any other is a mistake of the page
            screen.write("Traceback (most recent call last):\n  ...\n")
            screen.write("".join(traceback.format_exception_only(error)))
    return printed(screen)


def check_console(block: Block) -> Iterator[Mismatch]:
    """Run the commands of a console and yield what differs."""
    for step in steps(block, "$ ", ""):
        status, got = run_command(step.source)
        failed = status and not step.shown  # a failure has to be shown to be meant
        if failed or (step.shown and not agree(step.shown, got)):
            yield Mismatch(step, block.indent, got)


def check_python(block: Block, names: dict[str, Any]) -> Iterator[Mismatch]:
    """Run the Python of a block and yield what differs."""
    if not any(line.startswith(">>> ") for line in block.lines):
        exec(compile("\n".join(block.lines), "<page>", "exec"), names)  # noqa: S102  our own pages
        return
    for step in steps(block, ">>> ", "... "):
        got = run_statement(step.source, names)
        if not agree(step.shown, got):
            yield Mismatch(step, block.indent, got)


def mismatches(page: Path, *, thorough: bool = True) -> Iterator[Mismatch]:
    """Run a page in the current directory and yield what it shows otherwise than it is."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page.read_text(encoding="utf-8").splitlines()):
        if block.directive == "file":
            Path(block.argument).write_text("\n".join(block.lines) + "\n", encoding="utf-8")
        elif block.directive == "not run" or (block.directive == "thorough" and not thorough):
            continue
        elif block.language == "console":
            yield from check_console(block)
        elif block.language == "python":
            yield from check_python(block, names)


def elided(shown: tuple[str, ...], got: tuple[str, ...]) -> tuple[str, ...]:
    """Return what was printed, with ``...`` for lines that the page omits.

    All of it if a line is shown in part.
    """
    kept = [line for line in shown if line.strip() != "..."]
    if len(kept) == len(shown) or any("..." in line for line in kept):
        return got
    gaps, place = set(), 0  # numbers of kept lines before which lines are omitted
    for line in shown:
        if line.strip() == "...":
            gaps.add(place)
        else:
            place += 1
    found: list[str] = []
    for kind, first, last, start, end in SequenceMatcher(None, kept, got, autojunk=False).get_opcodes():
        begin, stop = start, end
        if kind != "equal" and gaps & {first, last}:  # which of the new lines are those that were shown
            old, count = "\n".join(kept[first:last]), last - first
            begin = max(
                range(start, max(start, end - count) + 1),
                key=lambda one: SequenceMatcher(None, old, "\n".join(got[one : one + count])).ratio(),
            )
            begin, stop = begin if first in gaps else start, begin + count if last in gaps else end
            while count and stop < end and old.endswith(".") and not got[stop - 1].endswith("."):
                stop += 1
        found += [*(["..."] if begin > start else []), *got[begin:stop], *(["..."] if stop < end else [])]
    return tuple(one for one, before in zip(found, ["", *found], strict=False) if one != "..." or before != "...")


def corrected(page: Path) -> str:
    """Return the text of a page with what is printed today."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for wrong in sorted(mismatches(page), key=lambda one: -one.step.first):
        first = wrong.step.first
        today = elided(wrong.step.shown, wrong.got)
        lines[first : first + len(wrong.step.shown)] = [(wrong.indent + line).rstrip() for line in today]
    return "\n".join(lines) + "\n"


def rendered(script: Path) -> str:
    """Return a percent script as a page: its text, its code, and what a notebook would show below.

    A cell begins with ``# %%``, one of text with ``# %% [markdown]``. The last expression of a cell is shown as ``str``
    gives it where it is a result of ours, whose tables are for people, and else as ``repr`` does.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    out = [f"<!-- made of {script.name} by python -m tests.pages -->"]
    for is_text, body in cells(script):
        if is_text:
            out.append(body)
        else:
            out.append(f"```python\n{body}\n```")
            if shown := "\n".join(run_cell(body, names)):
                out.append(f"```text\n{shown}\n```")
    return "\n\n".join(out) + "\n"


def cells(script: Path) -> Iterator[tuple[bool, str]]:
    """Yield the cells of a percent script: whether it is text, and what is in it."""
    for cell in re.split(r"^# %%", script.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        kind, _, body = cell.partition("\n")
        is_text = "[markdown]" in kind
        lines = body.strip().splitlines()
        yield (
            is_text,
            "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines) if is_text else body.strip(),
        )


def as_notebook(script: Path, *, outputs: bool = False) -> str:
    """Return a percent script as a notebook, without outputs or, if it is run, with them."""
    names: dict[str, Any] = {"__name__": "__main__"}
    parts: list[dict[str, Any]] = []
    for place, (is_text, body) in enumerate(cells(script)):
        shown = outputs_of(body, names) if outputs and not is_text else []
        parts.append(
            {"id": f"cell{place}", "cell_type": "markdown" if is_text else "code", "metadata": {}}
            | ({} if is_text else {"execution_count": None, "outputs": shown})
            | {"source": body.splitlines(keepends=True)}
        )
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": parts, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1) + "\n"


def run_cell(source: str, names: dict[str, Any]) -> tuple[str, ...]:
    """Run a cell of a notebook and return what it shows."""
    screen = io.StringIO()
    value = value_of(source, names, screen)
    if value is not None:
        show(value, screen)
    return printed(screen)


def value_of(source: str, names: dict[str, Any], screen: io.StringIO) -> Any:
    """Run a cell and return the value of its last expression, None if it is none."""
    tree = ast.parse(source)
    last = tree.body[-1]
    with contextlib.redirect_stdout(screen):
        if isinstance(last, ast.Expr):
            tree.body.pop()
        exec(compile(tree, "<cell>", "exec"), names)  # noqa: S102  our own pages
        if isinstance(last, ast.Expr):
            return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # noqa: S307
    return None


def outputs_of(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell and return its outputs as a notebook keeps them."""
    screen = io.StringIO()
    value = value_of(source, names, screen)
    outputs: list[dict[str, Any]] = []
    if screen.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": screen.getvalue().splitlines(keepends=True)})
    if value is not None:
        text = str(value) if isinstance(value, Result) else repr(value)
        data = {"text/plain": text.splitlines(keepends=True)}
        if (shown := getattr(value, "_repr_html_", lambda: None)()) is not None:
            data["text/html"] = shown.splitlines(keepends=True)
        outputs.append({"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data})
    return outputs


def show(value: object, screen: io.StringIO) -> None:
    """Write what a notebook shows of a value; of a table that is too wide for a page what a terminal does."""
    text = str(value) if isinstance(value, Result) else repr(value)
    if isinstance(value, Result) and max(map(len, text.splitlines()), default=0) > WIDEST:
        print_result(value, Console(file=screen, width=int(TERMINAL["COLUMNS"]), force_terminal=True))
    else:
        screen.write(f"{text}\n")


def with_fields(page: str) -> str:
    """Return the page about inventories with the lists of all fields below its mark."""
    mark = "<!-- made of the table of fields by python -m tests.pages -->\n"
    parts = [page[: page.index(mark)] + mark.strip()]
    tables: list[tuple[str, Table]] = [("The file", table_of(Inventory))]
    for title, table in tables:  # grows below
        lines = []
        for field in (*table.fields, *table.read_only):
            if isinstance(field, Entries | Inner):
                tables.append((f"{'' if table.kind is Inventory else f'{title}: '}{field.name}", field.table))
            shown = field.default is not None and field.default is not REQUIRED and field.default
            usual = (
                f", default `{field.show(field.default)}`"
                if shown and field.ranged | isinstance(field, Choice | Share)
                else ""
            )
            need = ", required" if field.default is REQUIRED else usual
            lines.append(f"* `{field.name}`: {field.describe()}{need}. {field.meaning[:1].upper()}{field.meaning[1:]}.")
        parts += [f"## {title}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


@contextlib.contextmanager
def empty_directory() -> Iterator[None]:
    """Go to an empty directory and to a terminal of 80 columns."""
    before = dict(os.environ)
    os.environ.update(TERMINAL)
    try:
        with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def keep_pictures(text: str) -> None:
    """Copy the pictures that the commands of a page have written here to where it shows them."""
    for name in re.findall(r"\]\(pictures/([\w-]+\.svg)\)", text):
        if Path(name).exists():
            shutil.copyfile(name, ROOT / "docs" / "pictures" / name)


def names_of(page: Path) -> set[str]:
    """Return what a page is called: its name, with the folder if it is in one of those of docs/."""
    return {page.name} if page.parent.name == "docs" else {str(page.relative_to(ROOT)).removeprefix("docs/")}


def main(names: list[str]) -> None:
    """Write what is printed today into all pages, or those of a name."""
    if not names or TUTORIAL.name in names:
        with empty_directory():
            text = rendered(TUTORIAL)
        TUTORIAL.with_suffix(".md").write_text(text, encoding="utf-8")
    if not names or NOTEBOOK.name in names:
        with empty_directory():
            text = as_notebook(NOTEBOOK, outputs=True)
        NOTEBOOK.with_suffix(".ipynb").write_text(text, encoding="utf-8")
    if not names or DECISION.name in names:
        with empty_directory():
            text = as_notebook(DECISION, outputs=True)
        DECISION.with_suffix(".ipynb").write_text(text, encoding="utf-8")
    for page in PAGES:
        if (not names or names_of(page) & set(names)) and page != TUTORIAL.with_suffix(".md"):
            with empty_directory():
                text = corrected(page)
                keep_pictures(text)
            page.write_text(text, encoding="utf-8")
    if not names or INVENTORY.name in names:
        INVENTORY.write_text(with_fields(INVENTORY.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
