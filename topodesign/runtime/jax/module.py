"""The contents of a JAX module, read without execution."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from topodesign.base.errors import TopodesignError
from topodesign.collectives import COLLECTIVES, Collective
from topodesign.runtime.jax.code import AMOUNTS, CHANGES, ENDING, HEADER, buffers, code_of, is_same_code, name_of

LARGEST = 2**24  # bytes of a module that is read
MAX_RANKS = 2**12
MAX_ROWS = 2**24  # rows of all ranks together

Runs = list[tuple[int, int]]


class ModuleError(TopodesignError):
    """Why a file is no module that we know."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A permutation: pairs of ranks, and rows sent and written."""

    pairs: tuple[tuple[int, int], ...]
    take: list[Runs]
    put: list[Runs]


@dataclass(frozen=True, slots=True)
class Phase:
    """Steps that store, or that add."""

    adds: bool
    start: list[Runs]
    steps: tuple[tuple[Exchange, ...], ...]
    finish: list[Runs]
    terms: int = 1  # equal parts of what is left, which are added up


@dataclass(frozen=True)
class Module:
    """All that a module says."""

    collective: Collective  # with its root
    ranks: int
    units: int  # pieces of a block
    phases: tuple[Phase, ...]
    text: str
    changes: tuple[int, ...] = ()  # steps after each of which circuits change
    amounts: tuple[tuple[int, ...], ...] | None = None  # pieces of each block that are sent, where these differ

    @property
    def whole(self) -> bool:
        """Whether the input is one array, as of an allreduce."""
        return buffers(self.collective, self.ranks)[2]

    @property
    def given(self) -> int:
        """Rows that every rank begins with."""
        return len(self.collective.at(None).inputs(0, self.ranks)) * self.units

    @property
    def result(self) -> int:
        """Rows that every rank ends with."""
        return len(self.collective.at(None).outputs(0, self.ranks)) * self.units


def parse_module(content: bytes) -> Module:
    """Return a module's contents; ModuleError for foreign code or data."""
    try:
        text = content.decode()
        body = ast.parse(text).body
    except (UnicodeDecodeError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ModuleError(f"this is not a Python module: {error}") from None
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    count = len(HEADER)
    numbers = dict(_read_assignment(one) for one in body[:count])
    if tuple(numbers) != HEADER:
        raise ModuleError(f"a module begins with {', '.join(HEADER)}, each on a line")
    more: dict[str, Any] = {}
    while len(body) > count and isinstance(body[count], ast.Assign) and len(more) < 2:
        name, value = _read_assignment(body[count])
        count += 1
        more[name] = value
    changing, changes = CHANGES in more, more.pop(CHANGES, ())
    uneven, amounts = AMOUNTS in more, more.pop(AMOUNTS, ())
    if more or not isinstance(changes, tuple) or not all(type(one) is int for one in changes):
        raise ModuleError(f"{CHANGES} are numbers of steps")
    functions = [one.name for one in body if isinstance(one, ast.FunctionDef)]
    collective = next((one for one in COLLECTIVES.values() if name_of(one) in functions[:1]), None)
    if collective is None:
        raise ModuleError("its first function is not one of " + ", ".join(map(name_of, COLLECTIVES.values())))
    end = next((at for at, one in enumerate(body) if at >= count and isinstance(one, ast.Assign)), len(body))
    plain, summing = (
        is_same_code(body[count:end], code_of(collective, changing=changing, summing=one, uneven=uneven))
        for one in (False, True)
    )
    if not (plain or summing) or not is_same_code(body[end + 1 :], ENDING):
        raise ModuleError(
            "its code is not that of modules of this version, and unknown code is not executed; compile it again"
        )
    name, data = _read_assignment(body[end])
    if name != "PHASES":
        raise ModuleError("PHASES come after the code")
    module = replace(_module(collective, numbers, data, text, summing=summing), changes=changes)
    if uneven:
        if not _are_amounts(amounts, module.ranks, module.units) or not collective.pairwise:
            raise ModuleError(f"{AMOUNTS} are, for each rank, as many numbers of pieces as there are ranks")
        module = replace(module, amounts=amounts)
    ends = [0, *changes, sum(len(phase.steps) for phase in module.phases)]
    if changing and not all(a < b for a, b in pairwise(ends)):
        raise ModuleError(f"{CHANGES} ascend and are between steps, not {changes}")
    return module


def _are_amounts(value: Any, ranks: int, most: int) -> bool:
    rows = value if isinstance(value, tuple) and len(value) == ranks else ((),)
    return all(
        isinstance(row, tuple) and len(row) == ranks and all(type(one) is int and 0 <= one <= most for one in row)
        for row in rows
    )


def _module(collective: Collective, numbers: Mapping[str, Any], data: Any, text: str, *, summing: bool) -> Module:
    """Return a module whose numbers and data fit one another."""
    ranks, root, pieces = numbers["RANKS"], numbers["ROOT"], numbers["PIECES"]
    if type(ranks) is not int or not 1 <= ranks <= MAX_RANKS or type(pieces) is not int or pieces < 1:
        raise ModuleError(f"RANKS are 1 to {MAX_RANKS} and PIECES at least 1")
    splits, joins, whole = buffers(collective, ranks)
    units, rest = divmod(pieces, ranks if whole else 1)
    if (numbers["SPLITS"], numbers["JOINS"]) != (splits, joins) or rest:
        raise ModuleError(f"SPLITS, JOINS and PIECES are not those of {collective}")
    if collective.rooted != (type(root) is int) or (collective.rooted and not 0 <= root < ranks):
        raise ModuleError(f"ROOT {root!r} does not fit {collective} of {ranks} ranks")
    adding = [movement.adds for movement in collective.movements]
    if summing and isinstance(data, tuple) and data:  # phases store, and ranks add up in the end of each
        adding = [False] * len(data)
    if not isinstance(data, tuple) or len(data) != len(adding):
        raise ModuleError(f"{collective} has {len(adding)} phases")
    rows = len(collective.at(None).inputs(0, ranks)) * units
    if rows * ranks > MAX_ROWS:
        raise ModuleError(f"{rows} rows of each of {ranks} ranks are too many")
    phases = []
    for adds, record in zip(adding, data, strict=True):
        phases.append(phase := _phase(record, ranks, rows, summing=summing))
        if phase.adds != adds:
            raise ModuleError(f"a phase of {collective} adds where it must store, or the reverse")
        rows = _length(phase.finish[0]) // phase.terms
    module = Module(collective.at(root), ranks, units, tuple(phases), text)
    if rows != module.result:
        raise ModuleError(f"{rows} rows are the result, and {collective} has {module.result}")
    return module


def _read_assignment(statement: ast.stmt) -> tuple[str, Any]:
    """Return name and value of ``NAME = literal``."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        try:
            return statement.targets[0].id, ast.literal_eval(statement.value)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            pass
    raise ModuleError(f"line {statement.lineno} is not NAME = number or data")


def _phase(record: Any, ranks: int, given: int, *, summing: bool) -> Phase:
    names = ["adds", "start", "steps", "finish", *(["terms"] if summing else [])]
    if not isinstance(record, dict) or list(record) != names:
        raise ModuleError(f"a phase has {', '.join(names)}")
    start = _rows(record["start"], ranks, given)
    rows = _length(start[0])
    if rows * ranks > MAX_ROWS:
        raise ModuleError(f"{rows} rows of each of {ranks} ranks are too many")
    if not isinstance(record["steps"], tuple) or not all(isinstance(step, tuple) for step in record["steps"]):
        raise ModuleError("steps are a tuple, and each is one of permutations")
    steps = tuple(tuple(_exchange(one, ranks, rows) for one in step) for step in record["steps"])
    finish, terms = _rows(record["finish"], ranks, rows), record.get("terms", 1)
    if type(terms) is not int or terms < 1 or _length(finish[0]) % terms:
        raise ModuleError(f"{_length(finish[0])} rows are no sums of {terms!r:.40}")
    return Phase(record["adds"] is True, start, steps, finish, terms)


def _exchange(record: Any, ranks: int, rows: int) -> Exchange:
    if (
        not isinstance(record, dict)
        or list(record) != ["pairs", "take", "put"]
        or not isinstance(record["pairs"], list)
    ):
        raise ModuleError("a permutation has pairs, take and put")
    pairs = tuple(record["pairs"])
    for pair in pairs:
        if not _is_pair(pair) or not all(0 <= rank < ranks for rank in pair):
            raise ModuleError(f"pairs are of ranks 0 to {ranks - 1}, not {pair!r:.40}")
    for side in zip(*pairs, strict=True):
        if len(set(side)) < len(side):
            raise ModuleError(f"a rank sends or receives twice in a permutation: {list(pairs)!r:.200}")
    take, put = (_rows(record[name], ranks, rows) for name in ("take", "put"))
    if _length(take[0]) != _length(put[0]):
        raise ModuleError(f"{_length(take[0])} rows are sent, and {_length(put[0])} received")
    return Exchange(pairs, take, put)


def _rows(record: Any, ranks: int, rows: int) -> list[Runs]:
    """Return equally long runs of rows, common or per rank."""
    if not isinstance(record, list) or len(record) not in {1, ranks}:
        raise ModuleError(f"rows are a list of runs for all, or for each of {ranks} ranks")
    for runs in record:
        if not isinstance(runs, list) or not all(map(_is_pair, runs)):
            raise ModuleError("runs are pairs of numbers")
        if not all(0 <= a < b <= rows or -MAX_ROWS < a < b == 0 for a, b in runs):
            raise ModuleError(f"runs are within the {rows} rows that there are, or end at 0: {runs!r:.200}")
    if not record[0] or len({_length(runs) for runs in record}) > 1:
        raise ModuleError("ranks have as many rows as one another, and at least one")
    return record


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(type(one) is int for one in value)


def _length(runs: Runs) -> int:
    return sum(b - a for a, b in runs)
