"""Reader of MSCCL XML, as strict as the runtimes' parser.

That parser reads characters one at a time: between tags only blanks and line ends, in a tag exactly one blank before
each attribute, values in double quotes and never decoded. There is no declaration, no document type and no entity, so
nothing can expand. Whatever it would refuse, misread or crash on is an :class:`XmlError` here; elements it does not
know are skipped, as it does. The source of the rules is the runtimes' parser; see the design notes, section 5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from topodesign.base.errors import FileFormatError
from topodesign.base.memory import check_memory, pause_collector
from topodesign.base.text_files import read_bytes
from topodesign.collectives import Collective
from topodesign.runtime.msccl.profiles import PROTOCOLS, RuntimeProfile
from topodesign.runtime.msccl.steps import BUFFERS, STEP_TYPES, Step, Steps

if TYPE_CHECKING:
    from topodesign.base.compiled import Ints

MAX_BYTES = 2**27  # larger files are refused unread

_PER_SIGN = (("<", 400), ('"', 60))
"""Bytes of memory that an element takes, read and checked, and half an attribute, for that has two quotes."""
_BULK = 2**20  # characters from which on machine code reads steps, which has to be loaded
_MAX_DEPTH = 32
_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"
_MAX_ATTRIBUTES = 1000  # that are looked at; no runtime reads more than a few dozen
_OPEN = re.compile(rf'<({_NAME})((?: {_NAME}="[^"\0]*"){{0,{_MAX_ATTRIBUTES}}}) ?(/?)>')
_CLOSE = re.compile(rf"</({_NAME})>")
_ATTRIBUTE = re.compile(rf' ({_NAME})="([^"]*)"')
_BLANK = re.compile(r"[ \n\r]*")
_ODD_COMMENT = re.compile(r"[^ />\n\r=]{0,250}=|[^ />\n\r]{250}")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_SMALL = "(0|-?[1-9][0-9]{0,8})"  # within 32 bits whatever the digits
_PLAIN_STEP = re.compile(
    rf'<step s="{_SMALL}" type="({"|".join(STEP_TYPES)})" srcbuf="([ios])" srcoff="{_SMALL}" dstbuf="([ios])" '
    rf'dstoff="{_SMALL}" cnt="{_SMALL}" depid="{_SMALL}" deps="{_SMALL}" hasdep="([01])" ?/>[ \n\r]*'
)
"""A step as all tools write it, and the blanks after it: nothing about it can be wrong."""
_CHILD = {"": "algo", "algo": "gpu", "gpu": "tb", "tb": "step"}
_ALGO = (
    *("name", "proto", "nchannels", "nchunksperloop", "ngpus", "coll"),
    *("inplace", "outofplace", "minBytes", "maxBytes"),
)
_MAX_WARNINGS = 10
_MSCCL_MAX_BYTES = 2**27  # what microsoft/msccl assumes where maxBytes is missing


_ReadSteps = Callable[[str, int, int, list[Any]], tuple[int, int]]
"""Reads as many plain steps as there are from a position on, on a line; returns position and line after them."""


class XmlError(FileFormatError):
    """The runtime would refuse, misread or crash on this file."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.message = message
        self.line = line


@dataclass(frozen=True, slots=True)
class Threadblock:
    """One ``tb`` element: peers (-1 for none), channel and steps."""

    id: int
    send: int
    recv: int
    chan: int
    steps: Steps
    line: int


@dataclass(frozen=True, slots=True)
class Gpu:
    """One ``gpu`` element: what one rank does."""

    id: int
    i_chunks: int
    o_chunks: int
    s_chunks: int
    threadblocks: tuple[Threadblock, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Program:
    """One ``algo`` element: a collective for all ranks."""

    name: str  # the attributes of ``algo``
    proto: str
    nchannels: int
    nchunksperloop: int
    ngpus: int
    coll: str
    collective: Collective  # what ``coll`` names, without a root
    inplace: bool
    outofplace: bool
    min_bytes: int
    max_bytes: int
    gpus: tuple[Gpu, ...]  # in the order of the file
    warnings: tuple[str, ...] = ()  # what the parser skipped or assumed


class _Node:
    """An open element with attributes and finished children."""

    __slots__ = ("attributes", "children", "line", "name", "steps")

    def __init__(self, name: str, attributes: dict[str, str], line: int) -> None:
        self.name = name
        self.attributes = attributes
        self.line = line
        self.children: list[_Node] = []
        self.steps: list[_Node | Ints] = []  # rows of many, or one that is not plain

    def text(self, key: str) -> str:
        try:
            return self.attributes[key]
        except KeyError:
            raise XmlError(f"<{self.name}> has no attribute {key!r}; the runtime requires it", self.line) from None

    def integer(self, key: str, bits: int = 32) -> int:
        text = self.text(key)
        if _INTEGER.fullmatch(text) is None or not -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
            shown = text if len(text) <= 24 else text[:24] + "..."
            message = f'{key}="{shown}" of <{self.name}> is not a plain decimal integer of {bits} bits'
            raise XmlError(message, self.line)
        return int(text)

    def one_of(self, key: str, known: Iterable[str]) -> str:
        text = self.text(key)
        if text not in known:
            raise XmlError(f'{key}="{text[:24]}" of <{self.name}> is not one of {", ".join(known)}', self.line)
        return text

    def flag(self, key: str) -> bool:
        return self.one_of(key, ("0", "1")) == "1"


def read_text(path: Path) -> str:
    """Return the content of a file."""
    try:
        return read_bytes(path, MAX_BYTES).decode("utf-8")  # line ends as they are: the runtime sees them
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path} is not text: byte {error.start} is not UTF-8") from None
    except FileFormatError as error:
        raise FileFormatError(f"cannot read {path}: {error}") from None


@pause_collector()
def parse_xml(source: str | Path, profile: RuntimeProfile) -> Program:
    """Read a program as the runtime would."""
    text = read_text(source) if isinstance(source, Path) else source
    if len(text) > MAX_BYTES:
        raise FileFormatError(f"the text has {len(text)} characters; up to {MAX_BYTES} are read")
    needed = 3 * len(text) + sum(text.count(sign) * size for sign, size in _PER_SIGN)
    check_memory(needed, f"{len(text)} characters of XML")
    reader = _Reader(profile, _in_bulk(text) if len(text) > _BULK and text.isascii() else _plain_steps)
    return _program(reader.read(text), profile, reader.warnings)


def _in_bulk(text: str) -> _ReadSteps:
    """Return the compiled reader of steps if it pays."""
    import numpy as np  # noqa: PLC0415  which help does without

    from topodesign.runtime.msccl.steps_kernels import read_steps  # noqa: PLC0415

    content = np.frombuffer(text.encode(), dtype=np.uint8)
    rows = np.empty((text.count("<step "), len(Step._fields)), dtype=np.int64)
    free = 0

    def read(_: str, start: int, line: int, steps: list[_Node | Ints]) -> tuple[int, int]:
        nonlocal free
        position, after, found = read_steps(content, start, line, rows[free:])
        steps.append(rows[free : free + found])
        free += found
        return position, after

    return read


class _Reader:
    """Builder of the tree of known elements."""

    def __init__(self, profile: RuntimeProfile, read_steps: _ReadSteps) -> None:
        self._read_steps = read_steps
        self.root = _Node("", {}, 1)
        self.warnings: list[str] = []
        self._profile = profile
        self._plain = profile.attributes_per_node >= 10 and profile.value_length >= 10  # what a plain step has
        self._stack = [self.root]
        self._skipped: list[str] = []  # open elements that the runtime ignores, with everything inside them

    def read(self, text: str) -> _Node:
        """Return the algo element."""
        position, line = 0, 1
        while True:
            blank = _BLANK.match(text, position)
            start = blank.end() if blank else position
            line += text.count("\n", position, start)
            if start == len(text):
                break
            if self._plain and self._stack[-1].name == "tb" and not self._skipped:
                position, after = self._read_steps(text, start, line, self._stack[-1].steps)
                if position > start:
                    line = after
                    continue
            if text.startswith("<!--", start):
                position = _skip_comment(text, start, line)
            elif opened := _OPEN.match(text, start):
                self._open(opened[1], opened[2], bool(opened[3]), line)
                position = opened.end()
            elif closed := _CLOSE.match(text, start):
                self._close(closed[1], line)
                position = closed.end()
            else:
                _explain(text, start, line)
            line += text.count("\n", start, position)
        inside = self._skipped or [node.name for node in self._stack[1:]]
        if inside:
            raise XmlError(f"the file ends inside <{inside[-1]}>; it is cut off", line)
        if not self.root.children:
            raise XmlError("no <algo> element; this is not an MSCCL program", line)
        return self.root.children[0]

    def _open(self, name: str, attributes: str, single: bool, line: int) -> None:
        parent = self._stack[-1]
        if self._skipped or name != _CHILD.get(parent.name):
            self._skip(name, parent, single, line)
        else:
            if parent is self.root and self.root.children:
                raise XmlError("a second <algo>; write one per file", line)
            node = _Node(name, _attributes(name, attributes, line, self._profile), line)
            if name == "step":
                parent.steps.append(node)
            else:
                parent.children.append(node)
            if not single:
                self._stack.append(node)
        if len(self._stack) + len(self._skipped) > _MAX_DEPTH:
            raise XmlError(f"elements are nested more than {_MAX_DEPTH} deep", line)

    def _skip(self, name: str, parent: _Node, single: bool, line: int) -> None:
        if not self._skipped:
            if parent is self.root:
                raise XmlError(f"<{name}> where <algo> is expected; this is not an MSCCL program", line)
            if parent.name == "step":
                raise XmlError(f"<{name}> inside <step>; a step holds nothing", line)
            if len(self.warnings) < _MAX_WARNINGS:
                self.warnings.append(f"line {line}: <{name}> inside <{parent.name}> is ignored by the runtime")
        if not single:
            self._skipped.append(name)

    def _close(self, name: str, line: int) -> None:
        opener = self._skipped[-1] if self._skipped else self._stack[-1].name
        if name != opener:
            expected = f"</{opener}>" if opener else "no closing tag"
            raise XmlError(f"</{name}> where {expected} is expected", line)
        if self._skipped:
            self._skipped.pop()
        else:
            self._stack.pop()


def _plain_steps(text: str, start: int, line: int, steps: list[_Node | Ints]) -> tuple[int, int]:
    """Read plain steps; return position and line after them."""
    import numpy as np  # noqa: PLC0415  which help does without

    rows = []
    while found := _PLAIN_STEP.match(text, start):
        s, kind, srcbuf, srcoff, dstbuf, dstoff, cnt, depid, deps, hasdep = found.groups()
        ends = BUFFERS.index(srcbuf), int(srcoff), BUFFERS.index(dstbuf), int(dstoff)
        rows.append((int(s), STEP_TYPES.index(kind), *ends, int(cnt), int(depid), int(deps), int(hasdep), line))
        stop = found.end()
        line += text.count("\n", start, stop)
        start = stop
    if rows:
        steps.append(np.array(rows, dtype=np.int64))
    return start, line


def _skip_comment(text: str, start: int, line: int) -> int:
    if _ODD_COMMENT.match(text, start + 4):
        raise XmlError("a comment whose first word is too long or holds '='; put a blank after <!--", line)
    stop = text.find("-->", start + 4)
    if stop < 0:
        raise XmlError("a comment without -->", line)
    return stop + 3


def _attributes(name: str, text: str, line: int, profile: RuntimeProfile) -> dict[str, str]:
    count = text.count('"') // 2
    if count > profile.attributes_per_node:
        raise XmlError(f"<{name}> has {count} attributes; up to {profile.attributes_per_node} are read", line)
    pairs = _ATTRIBUTE.findall(text)
    attributes = dict(pairs)
    if len(attributes) < len(pairs):
        raise XmlError(f"<{name}> has an attribute twice; the runtime takes the first", line)
    for key, value in pairs:
        if max(len(key), len(value.encode())) > profile.value_length:
            limit = profile.value_length
            raise XmlError(f"attribute {key[:24]!r} of <{name}> has more than {limit} characters", line)
    return attributes


def _explain(text: str, start: int, line: int) -> NoReturn:
    """Raise the error that says which rule a tag breaks."""
    stop = text.find(">", start, start + 2**16)
    tag = text[start : stop + 1] if stop >= 0 else text[start : start + 2**16]
    outside = re.sub(r'"[^"]*"', '""', tag)
    rules = (
        (text[start] == "\ufeff", "a byte order mark before the first tag; save the file without it"),
        (text[start] == "\t", "a tab between tags; only blanks and line ends are allowed there"),
        (text[start] != "<", f"{text[start]!r} where '<' is expected; there is no text between tags"),
        (tag.startswith("<?"), "an XML declaration; delete it, the file starts with <algo"),
        (tag.startswith("<!"), "a document type; only elements and comments are read"),
        (stop < 0, f"the tag {tag[:24]!r} does not end"),
        ("\n" in outside or "\r" in outside, "a line break inside a tag; write every tag on one line"),
        ("\t" in outside, "a tab inside a tag; write one blank between attributes"),
        ("'" in outside, "single quotes; put every value in double quotes"),
        (bool(re.search(r"=[^\"]", outside)), "a value without double quotes"),
        ("  " in outside, "two blanks inside a tag, read as a nameless attribute; write one between attributes"),
        (bool(re.search(r'""[^ />]', outside)), "no blank between two attributes"),
        (" =" in outside or "= " in outside, "a blank beside '='"),
        (bool(re.search(r' [^ ="/>]+[ />]', outside)), "an attribute without a value"),
        (bool(re.match(r"</", tag)), "a closing tag is </name>, without blanks or attributes"),
        ("\0" in tag, "a zero byte"),
        (tag.count('="') > _MAX_ATTRIBUTES, f"more than {_MAX_ATTRIBUTES} attributes"),
    )
    for broken, message in rules:
        if broken:
            raise XmlError(message, line)
    raise XmlError(f"the tag {tag[:60]!r} cannot be read", line)


def _program(algo: _Node, profile: RuntimeProfile, warnings: list[str]) -> Program:
    has = algo.attributes.keys()
    for key in _ALGO:
        if key not in profile.optional:
            algo.text(key)
        elif key not in has:
            warnings.append(f"<algo> has no attribute {key!r}; other runtimes refuse the file")
    inplace = algo.flag("inplace")
    known = profile.collectives
    coll = algo.one_of("coll", known)
    return Program(
        name=algo.attributes.get("name", ""),
        proto=algo.one_of("proto", PROTOCOLS),
        nchannels=algo.integer("nchannels"),
        nchunksperloop=algo.integer("nchunksperloop"),
        ngpus=algo.integer("ngpus"),
        coll=coll,
        collective=known[coll],
        inplace=inplace,
        outofplace=algo.flag("outofplace") if "outofplace" in has else not inplace,
        min_bytes=algo.integer("minBytes", 64) if "minBytes" in has else 0,
        max_bytes=algo.integer("maxBytes", 64) if "maxBytes" in has else _MSCCL_MAX_BYTES,
        gpus=tuple(_gpu(node) for node in algo.children),
        warnings=tuple(warnings),
    )


def _gpu(node: _Node) -> Gpu:
    rank = node.integer("id")
    try:
        return Gpu(
            id=rank,
            i_chunks=node.integer("i_chunks"),
            o_chunks=node.integer("o_chunks"),
            s_chunks=node.integer("s_chunks"),
            threadblocks=tuple(_threadblock(child) for child in node.children),
            line=node.line,
        )
    except XmlError as error:
        raise XmlError(f"rank {rank}: {error.message}", error.line) from None


def _threadblock(node: _Node) -> Threadblock:
    import numpy as np  # noqa: PLC0415  which help does without

    number = node.integer("id")
    try:
        ends = node.integer("send"), node.integer("recv"), node.integer("chan")
        rows = [_step(child) if isinstance(child, _Node) else child for child in node.steps]
    except XmlError as error:
        raise XmlError(f"threadblock {number}: {error.message}", error.line) from None
    if len(rows) != 1:
        rows = [np.concatenate([np.empty((0, len(Step._fields)), dtype=np.int64), *rows])]
    return Threadblock(number, *ends, Steps(rows[0]), node.line)


def _step(node: _Node) -> Ints:
    import numpy as np  # noqa: PLC0415  which help does without

    row = (
        node.integer("s"),
        STEP_TYPES.index(node.one_of("type", STEP_TYPES)),
        *(BUFFERS.index(node.one_of("srcbuf", BUFFERS)), node.integer("srcoff")),
        *(BUFFERS.index(node.one_of("dstbuf", BUFFERS)), node.integer("dstoff")),
        *(node.integer(key) for key in ("cnt", "depid", "deps")),
        int(node.flag("hasdep")),
        node.line,
    )
    return np.array([row], dtype=np.int64)
