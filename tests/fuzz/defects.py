"""What is done to files: one function for each kind of defect, and which formats can have it.

A defect puts one broken input after another at a path, and yields whether readers must refuse it; else they may take
it, as a file that ends early but still makes sense. All is drawn from a seed.
"""

from __future__ import annotations

import io
import json
import os
import re
import socket
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from tests.fuzz.readers import Reader

NUMBER = re.compile(rb"(?<![\w.])\d+(?:\.\d+)?")
NOT_NUMBERS = (b"NaN", b"nan", b"Infinity", b"-Infinity", b"inf", b"1e999", b"0x10", b"\xc2\xb2", b"")
HUGE = (b"1" + b"0" * 40, b"9" * 5000, b"-1", b"9223372036854775808", b"18446744073709551616", b"1e308", b"0.5", b"1/0")
FRAGMENTS = (
    "\u20ac".encode(),
    b"NaN",
    b"-1",
    b"1e999",
    b"9" * 40,
    b"null",
    b"{}",
    b"[]",
    b'"',
    b"\0",
    b"\xff",
    b"\n",
    b",",
    b"=",
)
DOES_WITHOUT = {"catalog/verify", "search/build", "catalog/all_to_all"}
"""What is missing, these readers make, or take for empty."""
LOOKS_AT_THE_HEAD = {"base/file_kinds"}
Broken = Iterator[bool]
Defect = Callable[[Reader, Path, bytes, Random, int], Broken]


def kind(reader: Reader, path: Path, sample: bytes, random: Random, rounds: int) -> Broken:
    """Put something at the path that is no regular file, or nothing."""
    yield reader.module not in DOES_WITHOUT
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    yield True
    path.unlink()
    for target in ("/dev/zero", "/dev/tty", path.name):  # the last one is a link to itself
        path.symlink_to(target)
        yield target != path.name or reader.module not in DOES_WITHOUT
        path.unlink()
    here = os.open(path.parent, os.O_RDONLY)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(f"/proc/self/fd/{here}/{path.name}")
        yield True
    os.close(here)
    path.unlink()
    path.mkdir()
    yield True
    path.rmdir()


def size(reader: Reader, path: Path, sample: bytes, random: Random, rounds: int) -> Broken:
    """Nothing, one byte, and far too much."""
    for data in (b"", b"\0", b"\n" * 10_000):
        path.write_bytes(data)
        yield False
    path.write_bytes(sample)
    os.truncate(path, 2**38)  # takes no room on the disk
    yield reader.module not in LOOKS_AT_THE_HEAD


def encoding(reader: Reader, path: Path, sample: bytes, random: Random, rounds: int) -> Broken:
    """Texts in other encodings, with marks and with bytes that no text has."""
    text = sample.decode("latin-1")
    for data in (text.encode("utf-16"), text.encode("utf-32"), b"\xff\xfe" + sample, b"\xef\xbb\xbf" + sample):
        path.write_bytes(data)
        yield False
    for _ in range(rounds):
        place = random.randrange(len(sample) + 1)
        path.write_bytes(sample[:place] + random.choice((b"\0", b"\xff", b"\xc3", b"\x1b[31m")) + sample[place:])
        yield False


def truncation(reader: Reader, path: Path, sample: bytes, random: Random, rounds: int) -> Broken:
    """Files that end too early."""
    for _ in range(2 * rounds):
        path.write_bytes(sample[: random.randrange(len(sample) + 1)])
        yield False


def duplicate_keys(reader: Reader, path: Path, sample: bytes, random: Random, rounds: int) -> Broken:
    """Something that has a name is there twice."""
    yield from _edited(reader, path, sample, _TWICE, (random, rounds))


def unknown_keys(reader: Reader, path: Path, sample: bytes, random: Random, rounds: int) -> Broken:
    """Something is there that nobody asks for."""
    yield from _edited(reader, path, sample, _UNKNOWN, (random, rounds))


def not_numbers(reader: Reader, path: Path, sample: bytes, random: Random, rounds: int) -> Broken:
    """NaN and its like where numbers are."""
    yield from _numbers(reader, path, sample, NOT_NUMBERS, (random, rounds))


def huge_numbers(reader: Reader, path: Path, sample: bytes, random: Random, rounds: int) -> Broken:
    """Numbers that are too large, below zero or no integers."""
    yield from _numbers(reader, path, sample, HUGE, (random, rounds))


def mutation(reader: Reader, path: Path, sample: bytes, random: Random, rounds: int) -> Broken:
    """Anything, anywhere."""
    for _ in range(5 * rounds):
        path.write_bytes(mutated(sample, random))
        yield False


def mutated(data: bytes, random: Random) -> bytes:
    """Cut off, turn bits, put in what is unexpected, or repeat or omit a part."""
    for _ in range(random.randint(1, 3)):
        a, b = sorted(random.randrange(len(data) + 1) for _ in range(2))
        how = random.randrange(5)
        if how == 0:
            data = data[:a]
        elif how == 1 and a < len(data):
            data = data[:a] + bytes([data[a] ^ 1 << random.randrange(8)]) + data[a + 1 :]
        elif how == 2:
            data = data[:a] + random.choice(FRAGMENTS) + data[a + random.randrange(4) :]
        elif how == 3:
            data = data[:b] + data[a:b][:2000] + data[b:]
        else:
            data = data[:a] + data[min(b, a + 50) :]
    return data


DEFECTS: dict[str, Defect] = {
    "kind": kind,
    "size": size,
    "encoding": encoding,
    "truncation": truncation,
    "duplicate keys": duplicate_keys,
    "unknown keys": unknown_keys,
    "NaN": not_numbers,
    "huge numbers": huge_numbers,
    "mutation": mutation,
}
"""The columns of the table."""


def format_of(reader: Reader) -> str:
    """Return what kind of content a reader takes."""
    ending = Path(reader.name).suffix.removeprefix(".")
    lines = {"tsv", "scpi", "txt", "py", "lldp", "topo", "ethtool", ""}
    return "lines" if ending in lines else "yaml" if ending == "yml" else ending


def _edited(
    reader: Reader, path: Path, sample: bytes, edits: dict[str, tuple[Edit, bool]], drawn: tuple[Random, int]
) -> Broken:
    random, rounds = drawn
    edit, refused = edits[format_of(reader)]
    for _ in range(rounds):
        data = _in_header(sample, edits["json"][0], random) if edit is _archive else edit(sample, random)
        path.write_bytes(data)
        yield refused and data != sample and reader.module not in LOOKS_AT_THE_HEAD
    if edit is _archive:
        path.write_bytes(_packed(_members(sample), {"header.json" if edits is _TWICE else "nonsense.npy": b"{}"}))
        yield reader.module not in LOOKS_AT_THE_HEAD


def _numbers(reader: Reader, path: Path, sample: bytes, words: tuple[bytes, ...], drawn: tuple[Random, int]) -> Broken:
    random, rounds = drawn

    def edit(data: bytes, random: Random) -> bytes:
        found = list(NUMBER.finditer(data))
        if not found:
            return random.choice(words) + data
        one = random.choice(found)
        return data[: one.start()] + random.choice(words) + data[one.end() :]

    inside = {"npz": _in_header, "zip": _in_a_member}.get(format_of(reader))
    for _ in range(2 * rounds):
        path.write_bytes(edit(sample, random) if inside is None else inside(sample, edit, random))
        yield False


Edit = Callable[[bytes, Random], bytes]


def _at(pattern: bytes, replacement: bytes) -> Edit:
    """Return what replaces one match of a pattern, drawn at random."""
    expression = re.compile(pattern, re.MULTILINE)

    def edit(data: bytes, random: Random) -> bytes:
        found = list(expression.finditer(data))
        if not found:
            return data
        one = random.choice(found)
        return data[: one.start()] + one.expand(replacement) + data[one.end() :]

    return edit


def _column(name: bytes | None) -> Edit:
    """Return what adds a column of a name, or of one that there is, to a CSV."""

    def edit(data: bytes, random: Random) -> bytes:
        lines = [line for line in data.rstrip(b"\n").split(b"\n") if not line.startswith(b"#")]
        column = random.choice(lines[0].split(b",")) if name is None else name
        return b"\n".join(line + b"," + (b"1" if number else column) for number, line in enumerate(lines)) + b"\n"

    return edit


def _archive(data: bytes, random: Random) -> bytes:
    raise NotImplementedError


def _members(sample: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(sample)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _packed(members: dict[str, bytes], more: dict[str, bytes], kind: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name twice, which is what is wanted
        for name, data in (*members.items(), *more.items()):
            archive.writestr(name, data)
    return out.getvalue()


def _in_header(sample: bytes, edit: Edit, random: Random) -> bytes:
    """Return an archive with a header that was edited."""
    members = _members(sample)
    header = json.dumps(json.loads(members["header.json"])).encode()
    return _packed({**members, "header.json": edit(header, random)}, {})


def _in_a_member(sample: bytes, edit: Edit, random: Random) -> bytes:
    """Return an archive of text with a member that was edited."""
    members = _members(sample)
    name = random.choice(list(members))
    return _packed({**members, name: edit(members[name], random)}, {}, zipfile.ZIP_LZMA)


def _member(name: str | None) -> Edit:
    """Return what adds a member of a name, or of one that there is, to an archive of text."""

    def edit(data: bytes, random: Random) -> bytes:
        members = _members(data)
        again = random.choice(list(members))
        return _packed(members, {name or again: members[again]}, zipfile.ZIP_LZMA)

    return edit


_ANY_LINE = _at(rb"^.+\n", rb"\g<0>\g<0>")
_TWICE: dict[str, tuple[Edit, bool]] = {
    "json": (_at(rb'("[^"\\]*"):', rb"\1: 0, \1:"), True),
    "yaml": (_at(rb"^( *)([A-Za-z_]+):", rb"\1\2: 1\n\1\2:"), True),
    "csv": (_column(None), True),
    "graphml": (_at(rb' id="[^"]*"| [a-z.]+="[^"]*"', rb"\g<0>\g<0>"), True),
    "xml": (_at(rb' [a-zA-Z_]+="[^"]*"', rb"\g<0>\g<0>"), True),
    "npz": (_archive, True),
    "zip": (_member(None), True),
    "et": (_at(rb"\n.{0,40}", rb"\g<0>\g<0>"), False),  # a row of messages has no places of its own
    "lines": (_ANY_LINE, False),
}
_UNKNOWN: dict[str, tuple[Edit, bool]] = {
    "json": (_at(rb"\{(?=\s*\")", rb'{"nonsense": 1, '), False),  # switches' own files have more than we read
    "yaml": (_at(rb"^( *)([A-Za-z_]+):", rb"\1nonsense: 1\n\1\2:"), False),
    "csv": (_column(b"nonsense"), False),
    "graphml": (_at(rb"<(node|edge|graph)\b", rb'<\1 nonsense="1"'), False),
    "xml": (_at(rb"<(algo|gpu|tb|step)\b", rb'<\1 nonsense="1"'), False),
    "npz": (_archive, False),
    "zip": (_member("nonsense.tsv"), True),
    "et": (_at(rb"R.{1,20}", b"\xf8\x07\x01" + rb"\g<0>"), False),
    "lines": (_at(rb"^.+\n", rb"nonsense\n\g<0>"), False),
}
