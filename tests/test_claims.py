"""Words of claims come from ``base/claims.py``: no other module says to a user what is proven, best or least.

Looked at are all texts in the code, f-strings as a whole, other than

* docstrings, and texts that stand alone below an attribute, as its description;
* ``base/claims.py``, where the words are, and the descriptions of JSON: ``key(...)``, and ``report/schemas``;
* help texts in ``cli``: arguments by the name of ``help``, ``short_help``, ``epilog``, and the tables of commands;
* messages of errors that say what is wrong with the input. An answer of "no" (``InfeasibleError``) is looked at;
* names in code: keys of dictionaries, subscripts, and what is compared with ``==`` or ``in``.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import topodesign

ROOT = Path(topodesign.__file__).parent
WORDS = re.compile(
    r"\b(proven|proved|best known|the least|fewest|no topology|nothing beats|(nothing )?can beat|fastest"
    r"|of no help|optimal|unbeatable|no fewer)\b",
    re.IGNORECASE,
)
TABLES = frozenset(("COMMANDS", "SECTIONS"))
"""Names of what commands are and do, in ``cli``."""
KEYS = frozenset(("key", "said"))
"""Calls that say what keys of documents mean."""
OPTIONS = frozenset({"Option", "degrees_option", "flag", "nodes_option", "option", "output_option"})
"""Calls whose texts are help texts."""
DECLARED = frozenset(("KEYS", "ROW"))
"""Names of class attributes that declare keys."""
EXEMPT = ("base/claims.py", "report/schemas/")

ALLOWED = {
    "catalog/quality.py": 3,
    "finder/find.py": 1,
    "finder/runners_up.py": 1,
    "finder/survey.py": 1,
    "schedulers/evaluation.py": 1,
    "solve/flows/program.py": 3,
    "solve/discrete.py": 1,
    "solve/program.py": 2,
}
"""How many such texts a module still has; each number shrinks with the last word that moves, and none grows."""


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of what a module may say to a user; what is filled into an f-string is ``{}``."""
    module = path.relative_to(ROOT).as_posix()
    yield from _texts(ast.parse(path.read_text(encoding="utf-8")), in_cli=module.startswith("cli/"))


def _texts(node: ast.AST, *, in_cli: bool) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node.lineno, node.value
        return
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        yield node.lineno, "".join(map(str, parts))
        for part in node.values:  # texts that an expression in it chooses among
            if isinstance(part, ast.FormattedValue):
                yield from _texts(part.value, in_cli=in_cli)
        return
    for child in _looked_at(node, in_cli=in_cli):
        yield from _texts(child, in_cli=in_cli)


def _looked_at(node: ast.AST, *, in_cli: bool) -> Iterator[ast.AST]:
    """Yield the children of a node that are not exempt."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Call) and (_is_error(node.func) or getattr(node.func, "id", "") in KEYS):
        return
    if isinstance(node, ast.Assign | ast.AnnAssign) and DECLARED & {getattr(one, "id", "") for one in _targets(node)}:
        return
    if isinstance(node, ast.Call) and in_cli and getattr(node.func, "id", "") in OPTIONS:
        return
    if isinstance(node, ast.keyword) and in_cli and (node.arg or "").endswith(("help", "epilog")):
        return
    if isinstance(node, ast.Assign) and in_cli and any(getattr(one, "id", "") in TABLES for one in node.targets):
        return
    if isinstance(node, ast.Dict):
        yield from node.values
    elif isinstance(node, ast.Subscript):
        yield node.value
    elif isinstance(node, ast.Compare):
        yield from (one for one in (node.left, *node.comparators) if not isinstance(one, ast.Constant))
    else:
        yield from ast.iter_child_nodes(node)


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _is_error(function: ast.expr) -> bool:
    """Whether a call makes an error that tells of wrong input."""
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name == "BadParameter" or (name.endswith("Error") and name != "InfeasibleError")


def found() -> dict[str, list[str]]:
    """Return what is said by which module, as ``file:line: text``."""
    said: dict[str, list[str]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        module = path.relative_to(ROOT).as_posix()
        if not module.startswith(EXEMPT):
            for line, text in texts(path):
                if WORDS.search(text):
                    said.setdefault(module, []).append(f"topodesign/{module}:{line}: {' '.join(text.split())[:100]}")
    return said


def test_words_of_claims_are_said_in_one_place() -> None:
    said = found()
    more = [line for module, lines in said.items() if len(lines) > ALLOWED.get(module, 0) for line in lines]
    assert not more, "say it by topodesign/base/claims.py:\n" + "\n".join(more)
    now = Counter({module: len(lines) for module, lines in said.items()})
    fewer = {module: now[module] for module, count in ALLOWED.items() if now[module] < count}
    assert not fewer, f"fewer than ALLOWED says; write {fewer} there"


def test_what_is_looked_at_and_what_is_not() -> None:
    def seen(code: str) -> list[str]:
        return [text for _, text in _texts(ast.parse(code), in_cli=True) if WORDS.search(text)]

    assert seen('say("proven: 3 steps")') == ["proven: 3 steps"]
    assert seen('say(f"the least {what} of all")') == ["the least {} of all"]
    assert seen("x = f\"{a if b else 'nothing can beat it'}\"") == ["nothing can beat it"]
    assert seen('raise InfeasibleError("no topology is so good")') == ["no topology is so good"]
    assert seen('say("takes at least 3", "at the least cost")') == ["at the least cost"]
    for exempt in (
        '"""Return the fastest."""',
        'option(help="The fastest.")',
        'Option("The fastest.", Whole(1))',
        'COMMANDS = {"a": "Find the fastest."}',
        'raise ParameterError("write a number, or fastest")',
        'x = {"fastest": 1}["fastest"]',
        'x = word == "fastest"',
    ):
        assert not seen(exempt), exempt
