"""Every time in a table of README and docs follows from what stands in the table and above it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from tests.pages import PAGES, ROOT, blocks, steps
from topodesign import compare, pareto
from topodesign.base.records import Result
from topodesign.base.units import parse_bandwidth, parse_size, parse_time

TIME = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s)\*?")
SIZE = re.compile(r"\d+(?:\.\d+)?(?:[KMGT]i?)?B")
NOTE = re.compile(r"^(\S+(?: \S+)*)  +(\S.*(?:\n {2,}\S.*)*)", re.MULTILINE)
TREES = re.compile(r"(\d+) pairs? of trees of (\d+) levels")


@dataclass(frozen=True)
class Shown:
    """A table: the command, all that is printed, and its rows as cells by title."""

    command: str
    text: str
    rows: tuple[dict[str, list[str]], ...]
    notes: dict[str, str]


def tables(page: str) -> Iterator[Shown]:
    """The tables of a page, each row with the words under each title; labels of rows stand for the texts below."""
    for block in blocks(page.splitlines()):
        if block.language != "console" or block.directive == "not run":
            continue
        for step in steps(block, "$ ", "> "):
            lines = list(step.shown)
            text = " ".join(" ".join(lines).split())
            for at, line in enumerate(lines):
                if not at or not re.fullmatch(r"\s*─+\s*", line):
                    continue
                titles = list(re.finditer(r"\S+(?: \S+)*", lines[at - 1]))
                body = list(body_of(lines[at + 1 :]))
                rows = tuple(with_units(cells(row, titles)) for row in body)
                below = "\n".join(lines[at + 1 :])
                notes = {m.group(1): m.group(2) for m in NOTE.finditer(below)}
                yield Shown(step.source, text, rows, notes)


def body_of(lines: list[str]) -> Iterator[str]:
    """Rows until the notes; a blank line parts those that are compared with only."""
    blank = 0
    for line in lines:
        if not line.strip():
            blank += 1
        elif blank > 1 or not line.startswith(" "):
            return
        else:
            yield line


def cells(row: str, titles: list[re.Match[str]]) -> dict[str, list[str]]:
    """The words below each title: those of a column of words begin with it, numbers end with it."""
    found: dict[str, list[str]] = {title.group(): [] for title in titles}
    for word in re.finditer(r"\S+", row):
        begins = (title for title in titles if title.start() == word.start())
        ends = (title for title in titles if word.end() <= title.end() + 1)
        found[next(begins, next(ends, titles[-1])).group()].append(word.group())
    return found


def with_units(row: dict[str, list[str]]) -> dict[str, list[str]]:
    """The cells with the units of their titles, the bandwidth factor as y, and nothing in empty ones."""
    found = {}
    for title, words in row.items():
        name, _, unit = title.partition(" (")
        full = [f"{word}{unit[:-1]}" if re.fullmatch(r"\d+(?:\.\d+)?", word) else word for word in words]
        found["y" if name == "BW factor" else name] = [word for word in full if word != "-"]
    return found


def parameters(text: str) -> dict[str, Fraction]:
    """Alpha, gap, hop and bandwidth as the heading says."""
    found = {}
    for name in ("alpha", "gap", "hop"):
        if said := re.search(rf"\b{name} (\d[\d.]*(?:ns|us|ms|s))\b", text):
            found[name] = parse_time(said.group(1))
    if rate := re.search(r"(\d[\d.]*[KMGT]bps) per node", text):
        found["bandwidth"] = parse_bandwidth(rate.group(1))
    return found


def spread(word: str) -> tuple[Fraction, Fraction]:
    """The value of a printed time, and by how much it may be rounded."""
    number, unit = TIME.fullmatch(word).groups()  # type: ignore[union-attr]
    digits = len(number.partition(".")[2])
    scale = {"ns": 9, "us": 6, "ms": 3, "s": 0}[unit]
    value = Fraction(number)
    whole = max(Fraction(1, 10**digits), Fraction(10) ** (len(str(int(value))) - 4))  # trailing zeros are not printed
    return value / 10**scale, whole / 10**scale


def expected(shown: Shown, row: dict[str, list[str]], place: int, size: Fraction) -> Fraction | None:
    """The time of a row by the formulas of docs/time.md; None where the row has no figures of its own."""
    given = parameters(shown.text)
    transmit = 8 * size / given["bandwidth"]
    label = " ".join(row[list(row)[-1]])
    note = shown.notes.get(label, label)
    if (
        note.startswith("lower bound")
        or row.get("method", [])[:1] == ["at"]
        or "lower" in (row.get("way", [])[:1] + row.get("algorithm", [])[:1])
    ):
        return None  # the larger of latency and bandwidth alone, which no formula of a plan is for
    if not row["steps"]:
        if trees := TREES.search(" ".join(note.split())):
            ports = Fraction(re.search(r"degree (\d+)", shown.text).group(1))  # type: ignore[union-attr]
            pairs, depth = map(int, trees.groups())
            return double_tree(depth, given["alpha"], transmit * ports / (2 * pairs))
        return None
    count = Fraction(row["steps"][-1])
    y = Fraction([word for word in row["y"] if word != "="][-1])  # a mark says that a formula agrees
    if "hops" in row:  # of messages that pass through nodes, all of the collective
        return count * given["alpha"] + Fraction(row["hops"][-1]) * given["hop"] + y * transmit
    chunks = row.get("chunks") or []
    if not chunks:
        return (1 if whole_of(shown) else 2) * (count * given["alpha"] + y * transmit)
    gaps, hops = (row.get("g,h") or ["0,0"])[0].split(",")
    step = given["alpha"] + int(gaps) * given.get("gap", 0) + int(hops) * given.get("hop", 0)
    cut = int(chunks[place])
    phases = phases_of(shown, row, label)
    if not whole_of(shown):
        count, y = 2 * count, 2 * y
    return (count + phases * (cut - 1)) * (step + y * transmit / (phases * cut))


def whole_of(shown: Shown) -> bool:
    """Whether steps and y are of the whole collective, and not per phase."""
    methods = shown.command.startswith("topodesign compare") and "--algorithm" in shown.command
    return methods and "per phase" not in shown.text


def phases_of(shown: Shown, row: dict[str, list[str]], label: str) -> int:
    """How many pipelines follow one another: two of an allreduce, unless a line says that one is at once."""
    name = " ".join(row.get("method", [])) or label.partition(":")[0]
    if whole_of(shown) and "2 (chunks - 1)" not in shown.text:
        return 1
    single = re.findall(r"of ([a-z0-9, -]+?) \(steps \+ chunks - 1\)", shown.text)
    single += re.findall(r"([\w, -]+?), both halves at once", shown.text)
    return 1 if any(name in re.split(r", | and ", names.strip()) for names in single) else 2


def double_tree(depth: int, alpha: Fraction, whole: Fraction) -> Fraction:
    """NCCL's trees with the best number of chunks; ``whole`` is the time of one tree's data on its links."""
    return min(2 * (depth + k - 1) * (alpha + whole / k) for k in range(1, 1000))


def check(page: str) -> int:
    """Compute all times of a page again, and return how many there were."""
    looked_at = 0
    for shown in tables(page):
        given = parameters(shown.text)
        if not {"alpha", "bandwidth"} <= set(given):
            continue
        before = looked_at
        for row in shown.rows:
            sizes = [title for title in row if SIZE.fullmatch(title)]
            for place, title in enumerate(sizes):
                words = [word for word in row[title] if TIME.fullmatch(word)]
                if not words or "steps" not in row:
                    continue
                size = parse_size(title)
                wanted = expected(shown, row, place, size)
                if wanted is None:
                    continue
                value, rounding = spread(words[0])
                digits = Fraction(1, 2 * 10 ** len(row["y"][-1].partition(".")[2])) if row["y"] else Fraction(0)
                off = 2 * digits * 8 * size / given["bandwidth"] + rounding
                assert abs(value - wanted) <= off, (shown.command, row, float(wanted))
                looked_at += 1
        timed = any(SIZE.fullmatch(title) and "steps" in row for row in shown.rows for title in row)
        if timed and re.search(r"topodesign (pareto|compare)", shown.command):
            assert looked_at > before, f"no time of {shown.command} was looked at"
    return looked_at


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_printed_times_follow_from_printed_figures(page: Path) -> None:
    check(page.read_text(encoding="utf-8"))


def test_a_time_that_does_not_follow_is_found() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    said = set(re.findall(r"\d+\.\d+(?=   *\+)", page))
    words = [word for shown in tables(page) for row in shown.rows for cell in row.values() for word in cell]
    told = sorted(said & {found.group(1) for found in map(TIME.fullmatch, words) if found})
    assert check(page) >= len(told) > 3
    for number in told:
        for factor in (Fraction(101, 100), Fraction(99, 100)):
            other = f"{float(Fraction(number) * factor):.4g}".ljust(len(number))[: len(number)]
            with pytest.raises(AssertionError):
                check(page.replace(number, other))


def as_page(found: Result, command: str) -> str:
    """A result as a page would show it in a very wide terminal: what reports and notebooks show."""
    lines = found.table().text().splitlines()
    rule = next(at for at, line in enumerate(lines) if set(line) == {"-", " "})
    later = [at for at, line in enumerate(lines) if set(line) == {"-", " "}][1:]
    shown = [
        f" {'─' * len(line)}"
        if at == rule
        else ""
        if at in later
        else line
        if at > rule and line[0] != " "
        else f" {line}"
        for at, line in enumerate(lines)
    ]
    return "\n".join(f"    {line}" for line in [f"$ {command}", *shown])


@pytest.mark.dear("200")
@pytest.mark.parametrize("nodes", [16, 31, 200])
def test_tables_of_reports_follow_too(nodes: int) -> None:
    sizes = ["16KiB", "1MiB", "100MiB"]
    found = pareto(nodes, 6, sizes=sizes)
    assert check(as_page(found, "topodesign pareto")) >= 3 * len(found)
    beside = compare(["best", "torus", "ring", "fattree"], nodes=nodes, degree=6, sizes=sizes)
    assert check(as_page(beside, "topodesign compare")) >= 3 * len(beside.contenders)


def test_times_in_json_follow_from_what_is_in_it() -> None:
    found = compare(
        ["best", "ring", "fattree", "dragonfly"], nodes=72, degree=6, sizes=["1KiB", "1MiB", "1GiB"]
    ).record()
    for one in found["contenders"]:
        y, count, phases = float(Fraction(one["bandwidth"])), one["steps"], one["phases"]
        step = found["alpha_s"] + one["gaps"] * found["gap_s"] + one["hops"] * found["hop_s"]
        for size, chunks in zip(found["sizes_bytes"], one["chunks"], strict=True):
            transmit = 8 * size / found["bandwidth_bps"]
            wanted = 2 * (count * found["alpha_s"] + y * transmit)
            if one["pipelined"]:
                wanted = (2 * count + phases * (chunks - 1)) * (step + 2 * y * transmit / (phases * chunks))
            assert one["times_s"][str(size)] == pytest.approx(wanted, rel=1e-9)
