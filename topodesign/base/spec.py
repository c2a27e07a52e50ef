"""The spec language: text that rebuilds a topology.

For example ``line(circulant(16,3,4),3)``.

A spec is a name and a list of arguments, each an integer or another spec. It is read with Python's own parser and a
strict walk over the tree, never evaluated. Whether a name exists and its arguments make sense is decided when the
topology is built (:func:`topodesign.topology.library.build`); here only the form counts.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, field

from topodesign.base.arguments import as_text
from topodesign.base.errors import SpecError
from topodesign.base.wording import count_noun

LONGEST_SPEC = 10_000
DEEPEST_SPEC = 40
LARGEST_INTEGER = 10**15
_LONGEST_NAME = 64
NAMES_A_BOX = "boxes"  # whose first argument is the name of a preset, without brackets
_BLANKS = str.maketrans("\t\r\n", "   ")


@dataclass(frozen=True, slots=True)
class Spec:
    """A name with its arguments; ``str(spec)`` is the canonical text.

    Attributes
    ----------
    name
        Name of a generator, an expansion or a group.
    args
        Integers and nested specs, in order.
    position
        0-based offset in the text it was read from (for error messages only; not compared).
    bare
        Whether it is written without brackets, as the box of ``boxes(dgx_h100,complete(4))`` is.
    """

    name: str
    args: tuple[int | Spec, ...] = ()
    position: int = field(default=0, compare=False, repr=False)
    bare: bool = field(default=False, repr=False)

    def __str__(self) -> str:
        """Return the canonical text: no blanks, arguments in order."""
        return self.name if self.bare else f"{self.name}({','.join(map(str, self.args))})"


def name_alone(text: str) -> str:
    """Return a name without brackets, which only a registry can resolve.

    Examples
    --------
    >>> name_alone(" torus "), name_alone("torus(4,4)")
    ('torus', '')
    """
    name = text.strip()
    return name if len(name) <= _LONGEST_NAME and name.isidentifier() else ""


def parse(text: str) -> Spec:
    """Read a spec.

    Parameters
    ----------
    text
        Such as ``degree(biring(2,6),2)``. Blanks and line ends are allowed between tokens.

    Returns
    -------
    Spec
        With ``str(parse(text)) == text`` for canonical text.

    Raises
    ------
    SpecError
        With the offset of the character at fault.

    Examples
    --------
    >>> print(parse("degree( biring(2, 6), 2 )"))
    degree(biring(2,6),2)
    """
    text = as_text("a spec", text).translate(_BLANKS)  # as many letters as before
    if len(text) > LONGEST_SPEC:
        raise SpecError(f"spec is longer than {LONGEST_SPEC} characters", text[:100], 0)
    if not text.strip():
        raise SpecError("empty spec; try genkautz(4,1024)", text, 0)
    stripped = text.lstrip()
    offset = len(text) - len(stripped)
    if any(not 32 <= ord(character) < 127 for character in stripped.rstrip()):
        bad = next(i for i, character in enumerate(text) if i >= offset and not 32 <= ord(character) < 127)
        raise SpecError("only plain ASCII characters belong in a spec", text, bad)
    if "#" in text:
        raise SpecError("a spec has no comments", text, text.index("#"))
    try:
        with warnings.catch_warnings():  # Python's parser warns of text such as "1or", which is refused below
            warnings.simplefilter("ignore")
            tree = ast.parse(stripped, mode="eval").body
    except SyntaxError as error:
        raise _syntax_error(error, text, offset) from None
    except (ValueError, MemoryError, RecursionError):
        raise SpecError("spec cannot be read", text, 0) from None
    result = _walk(tree, text, offset, 0)
    if not isinstance(result, Spec):
        raise SpecError("a spec is a name with arguments, such as genkautz(4,1024)", text, offset)
    return result


def _syntax_error(error: SyntaxError, text: str, offset: int) -> SpecError:
    position = offset + max(0, (error.offset or 1) - 1)
    opened, closed = text.count("("), text.count(")")
    if opened > closed:
        return SpecError(f"{count_noun(opened - closed, 'closing bracket')} missing", text, len(text))
    if closed > opened:
        return SpecError("closing bracket without an opening one", text, position)
    return SpecError("not a spec; write name(argument,...)", text, position)


def _walk(node: ast.expr, text: str, offset: int, depth: int) -> int | Spec:
    position = offset + node.col_offset
    if depth > DEEPEST_SPEC:
        raise SpecError(f"specs nest at most {DEEPEST_SPEC} deep", text, position)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        if not isinstance(node.operand, ast.Constant):
            raise SpecError("a minus sign belongs before a number", text, position)
        return -_integer(node.operand, text, offset + node.operand.col_offset)
    if isinstance(node, ast.Constant):
        return _integer(node, text, position)
    if isinstance(node, ast.Name):
        raise SpecError(f"'{node.id}' requires brackets: {node.id}(...)", text, position)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise SpecError("expected an integer or name(argument,...)", text, position)
    if node.keywords:
        raise SpecError("arguments have no names in a spec", text, offset + node.keywords[0].col_offset)
    args = tuple(
        Spec(argument.id, (), offset + argument.col_offset, bare=True)
        if isinstance(argument, ast.Name) and not place and node.func.id == NAMES_A_BOX
        else _walk(argument, text, offset, depth + 1)
        for place, argument in enumerate(node.args)
    )
    return Spec(node.func.id, args, position)


def _integer(node: ast.Constant, text: str, position: int) -> int:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpecError("expected an integer", text, position)
    if value > LARGEST_INTEGER:
        raise SpecError(f"integers go up to {LARGEST_INTEGER}", text, position)
    written = text[position : position + (node.end_col_offset or 0) - node.col_offset]
    if written != str(value):  # 0x10, 1_000, 00
        raise SpecError(f"write the integer as {value}", text, position)
    return value
