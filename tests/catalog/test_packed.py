"""Packed catalogs: they read as what was packed does, whatever is asked, and what is wrong with one is reported."""

from __future__ import annotations

import dataclasses
import itertools
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import topodesign
from tests.samples.catalogs import DEGREES, LAST, any_row, write_catalog
from topodesign import Catalog
from topodesign.base.errors import CatalogError, FileFormatError
from topodesign.base.zips import member_info
from topodesign.catalog import packed, packing
from topodesign.catalog.all_to_all import PRICES, Bounds
from topodesign.catalog.files import (
    catalog_file,
    degrees,
    file_check,
    get_packed_path,
    get_stored_path,
    read_rows,
    whole_text,
    write_rows,
)
from topodesign.catalog.packed import END, HEAD, LARGEST_MEMBER, open_packed, piece_name
from topodesign.catalog.packing import pack_catalog
from topodesign.catalog.rows import Row
from topodesign.catalog.verify import read_stored_rows
from topodesign.cli.main import run
from topodesign.search.build import _read_other_sizes

PIECE = 700
"""Bytes of a piece here: a file of rows has several."""

Members = list[tuple[str, bytes]]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = write_catalog(tmp_path_factory.mktemp("plain"))
    rows = read_rows(directory, 4, 5, 9)
    PRICES.write(directory, 4, {row.price_key: Bounds(row.cost.bandwidth, row.cost.bandwidth) for row in rows}.items())
    return directory


@pytest.fixture(scope="module")
def directory(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, packed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "_LONGEST_PIECE", PIECE)
        pack_catalog(plain, target := tmp_path_factory.mktemp("packed"))
    return target


@pytest.fixture
def damaged(directory: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    path = get_packed_path(tmp_path, 4)
    path.write_bytes(get_packed_path(directory, 4).read_bytes())
    return path


def members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def write(path: Path, content: Iterable[tuple[str, bytes]], kind: int = zipfile.ZIP_LZMA) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in content:
            archive.writestr(member_info(name), text, kind)


def fails(path: Path, *span: int) -> str:
    """The message with which an archive is refused; it names the file."""
    with pytest.raises(CatalogError) as caught:
        read_rows(path.parent, 4, *span)
    assert str(caught.value).startswith(f"{path}:")
    return str(caught.value).removeprefix(f"{path}:")


# -- what is read -----------------------------------------------------------------------------------------------------


def test_a_packed_catalog_is_the_same(plain: Path, directory: Path) -> None:
    assert {path.suffix for path in directory.glob("degree*")} == {".zip"}
    assert degrees(directory) == degrees(plain) == list(DEGREES)
    for degree in DEGREES:
        assert get_stored_path(directory, degree) == get_packed_path(directory, degree)
        assert whole_text(directory, degree) == whole_text(plain, degree) == catalog_file(plain, degree).read_bytes()
        assert file_check(directory, degree) == file_check(plain, degree)
        assert Catalog(directory).rows(degree) == Catalog(plain).rows(degree)
    assert PRICES.path(directory, 4).read_bytes() == PRICES.path(plain, 4).read_bytes()
    assert not PRICES.path(directory, 2).exists()


@given(st.sampled_from(DEGREES), st.integers(0, LAST + 3), st.integers(0, LAST + 3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_range_is_read_as_from_the_text(plain: Path, directory: Path, degree: int, first: int, last: int) -> None:
    assert read_rows(directory, degree, first, last) == read_rows(plain, degree, first, last)


@given(st.lists(any_row(degree=7), max_size=30, unique_by=lambda row: row.key), st.integers(0, 2000), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_rows_are_read_from_any_pieces(
    tmp_path_factory: pytest.TempPathFactory, some: list[Row], piece: int, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("any")
    text = write_rows(folder, 7, some).read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "_LONGEST_PIECE", piece)
        pack_catalog(folder, folder / "packed")
    content = members(get_packed_path(folder / "packed", 7))
    assert b"".join(part for _, part in content) == text
    assert [name for name, _ in content] == sorted(name for name, _ in content)
    sizes = [{line.split(b"\t")[0] for line in part.splitlines()} for _, part in content[1:-1]]
    assert not any(one & other for one, other in itertools.combinations(sizes, 2))
    bounds = st.one_of(st.integers(0, 3001), st.sampled_from([row.nodes for row in some] or [0]))
    for _ in range(3):
        first, last = data.draw(bounds), data.draw(bounds)
        assert read_rows(folder / "packed", 7, first, last) == read_rows(folder, 7, first, last)
    assert file_check(folder / "packed", 7) == f"{zlib.crc32(text):08x}"


def test_the_members_are_the_text_in_pieces(directory: Path) -> None:
    content = members(get_packed_path(directory, 4))
    assert len(content) > 4
    assert content[0][0] == HEAD
    assert content[-1][0] == END
    for name, text in content[1:-1]:
        assert text.startswith(name.removesuffix(".tsv").lstrip("0").encode() + b"\t")
        assert len(text) <= PIECE


def test_a_lookup_decompresses_one_piece(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = open_packed(get_packed_path(directory, 4))
    starts = [int(member.filename.removesuffix(".tsv")) for member in archive.members[1:-1]]
    asked: list[str] = []
    reads = packed.PackedArchive._read

    def reading(self: packed.PackedArchive, member: zipfile.ZipInfo) -> bytes:
        asked.append(member.filename)
        return reads(self, member)

    monkeypatch.setattr(packed.PackedArchive, "_read", reading)
    for nodes in (*range(starts[0], LAST + 1), LAST + 100):
        asked.clear()
        read_rows(directory, 4, nodes, nodes)
        assert asked == [HEAD, piece_name(max(start for start in starts if start <= nodes)), END]
    asked.clear()
    assert read_rows(directory, 4, starts[1] - 1, starts[2]) != []
    assert asked == [HEAD, *map(piece_name, starts[:3]), END]
    asked.clear()
    assert read_rows(directory, 4, 0, starts[0] - 1) == []
    assert asked == [HEAD, END]


def test_what_is_written_comes_before_what_is_packed(directory: Path, damaged: Path) -> None:
    folder = damaged.parent
    rows = read_rows(folder, 4)
    assert _read_other_sizes(folder, 4, range(3, 5)) == [
        row for row in rows if row.nodes >= 5
    ]  # so a build goes on from it
    assert write_rows(folder, 4, rows[:3]) == catalog_file(folder, 4) == get_stored_path(folder, 4)
    assert damaged.exists()
    assert degrees(folder) == [4]
    assert read_rows(folder, 4) == rows[:3]
    assert file_check(folder, 4) != file_check(directory, 4)


def test_places_are_those_of_the_text(plain: Path, directory: Path) -> None:
    for one, other in zip(
        read_stored_rows(Catalog(plain), DEGREES), read_stored_rows(Catalog(directory), DEGREES), strict=True
    ):
        assert other == dataclasses.replace(one, path=get_packed_path(directory, one.row.degree))


def test_commands_answer_the_same(plain: Path, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    some = (["pareto", "-n", "30..33", "-d", "4"], ["catalog", "status"], ["pareto", "-n", "8", "-d", "4", "--json"])
    for command in some:
        said = []
        for place in (plain, directory):
            assert run([*command, "--catalog", str(place)]) == 0
            said.append(capsys.readouterr().out.replace(str(place), "DIRECTORY"))
        assert said[0] == said[1]


# -- what is packed ---------------------------------------------------------------------------------------------------


ALONE = [sys.executable, "-I", "-S", "-c"]
"""Starts Python without any library."""
ROOT = str(Path(topodesign.__file__).parents[1])


def test_packing_needs_nothing_but_python() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import topodesign.catalog.packing"
    subprocess.run([*ALONE, code, ROOT], check=True, timeout=600)


def test_a_lookup_in_plain_files_does_without_archives(plain: Path) -> None:
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from topodesign.catalog.files import read_rows\n"
        "read_rows(Path(sys.argv[2]), 4, 8, 8)\n"
        "sys.exit('zipfile' in sys.modules)\n"
    )
    subprocess.run([*ALONE, code, ROOT, plain], check=True, timeout=600)


def test_the_same_rows_give_the_same_bytes(plain: Path, directory: Path, tmp_path: Path) -> None:
    pack_catalog(plain, tmp_path / "one")
    pack_catalog(directory, tmp_path / "two")  # what is packed can be packed again
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    assert len(list((tmp_path / "one").iterdir())) == len(DEGREES) + 1


def test_only_a_whole_catalog_is_packed(plain: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    with pytest.raises(CatalogError, match="no catalog files"):
        pack_catalog(source, target)
    text = catalog_file(plain, 4).read_bytes()
    for wrong in (text[:-1], text[: len(text) // 2], text.replace(b"\n12\t4\t", b"\n12\t4\t1")):
        catalog_file(source, 4).write_bytes(wrong)
        with pytest.raises(CatalogError, match=r"degree_04\.tsv:[0-9]+: "):
            pack_catalog(source, target)
    assert not target.exists()
    catalog_file(source, 4).write_bytes(text)
    with pytest.raises(FileFormatError, match="already exists"):
        pack_catalog(source, plain)


def test_what_nobody_could_read_is_not_packed(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "LARGEST_MEMBER", 1000)
    with pytest.raises(CatalogError, match="at most 1000 make sense"):
        pack_catalog(plain, tmp_path / "target")


# -- what is damaged --------------------------------------------------------------------------------------------------


def test_a_truncated_archive_is_refused_whatever_is_asked(damaged: Path) -> None:
    whole = damaged.read_bytes()
    for length in (0, 1, 30, len(whole) // 2, len(whole) - 1):
        damaged.write_bytes(whole[:length])
        assert "no zip archive" in fails(damaged)
        assert "no zip archive" in fails(damaged, 3, 3)
        with pytest.raises(CatalogError):
            file_check(damaged.parent, 4)
    damaged.write_bytes(bytes(LARGEST_MEMBER + 1))
    assert "larger than" in fails(damaged)


def test_every_member_has_to_be_there(damaged: Path) -> None:
    content = members(damaged)
    for place, (name, _) in enumerate(content):
        write(damaged, content[:place] + content[place + 1 :])
        message = fails(damaged, LAST + 100, LAST + 100)
        if name in {HEAD, END}:
            assert message == f" its first member must be {HEAD} and its last {END}"
        else:
            assert ": the last line counts " in message
    for few in ([], content[:1], content[-1:]):
        write(damaged, few)
        assert "its first member" in fails(damaged)


def test_members_have_their_names_and_order(damaged: Path) -> None:
    head, one, two, *rest = members(damaged)
    for content, words in (
        ([head, two, one, *rest], "does not belong after"),
        ([head, one, one, two, *rest], f"{one[0]!r} does not belong after {one[0]}"),
        ([head, ("/etc/passwd", one[1]), two, *rest], "'/etc/passwd' does not belong"),
        ([head, ("../00003.tsv", one[1]), two, *rest], "does not belong"),
        ([head, ("000003.tsv", one[1]), two, *rest], "does not belong"),
        ([head, ("٠٠٠٠٣.tsv", one[1]), two, *rest], "does not belong"),
        ([head, (f"{'9' * 5000}.tsv", one[1]), two, *rest], "does not belong"),
        ([head, ("folder/", b""), one, two, *rest], "does not belong"),
        ([*members(damaged), ("more.tsv", b"")], "its first member"),
        ([head, ("00004.tsv", one[1]), two, *rest], "does not start with its number of nodes"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", Mock())  # of a name twice
            write(damaged, content)
        assert words in fails(damaged)


def test_an_edited_row_is_named_with_its_line_in_the_text(plain: Path, damaged: Path) -> None:
    content = members(damaged)
    lines = catalog_file(plain, 4).read_bytes().splitlines()
    for place, (name, text) in list(enumerate(content))[1:-1]:
        line = text.splitlines()[-1]
        edited = text.replace(line, line.replace(b"\t4\t", b"\t5\t"))
        write(damaged, [*content[:place], (name, edited), *content[place + 1 :]])
        nodes = int(line.split(b"\t")[0])
        number = lines.index(line) + 1
        assert fails(damaged, nodes, nodes).startswith(f"{number}: ")
        assert fails(damaged).startswith(f"{number}: ")
    write(damaged, [(HEAD, b"nodes\n"), *content[1:]])
    assert fails(damaged, 3, 3).startswith("1: the first line")
    write(damaged, [*content[:-1], (END, content[-1][1] * 2)])
    assert fails(damaged, 3, 3).startswith(f"{len(lines)}: the row has 2 columns")
    damaged.rename(get_packed_path(damaged.parent, 5))
    write(get_packed_path(damaged.parent, 5), content)
    with pytest.raises(CatalogError, match=r"degree_05\.zip:2: a row of degree 4"):
        read_rows(damaged.parent, 5)


def test_damaged_members_are_told(damaged: Path) -> None:
    whole = damaged.read_bytes()
    archive = open_packed(damaged)
    for member in archive.members[1:-1]:
        nodes = int(member.filename.removesuffix(".tsv"))
        for offset in (0, 3, 26, 28, 43, 60, member.compress_size):  # of the mark, lengths, properties and what follows
            place = member.header_offset + offset
            damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
            assert fails(damaged, nodes, nodes) == f" the member {member.filename} is damaged"
        damaged.write_bytes(whole)
        entry = whole.index(member.filename.encode(), archive.members[-1].header_offset) - 46
        for offset in (16, 24, 42):  # the check, the size, where it begins
            changed = bytearray(whole)
            changed[entry + offset] ^= 1
            damaged.write_bytes(changed)
            assert "damaged" in fails(damaged, nodes, nodes)
        changed = bytearray(whole)
        changed[entry + 24 : entry + 28] = b"\xff\xff\xff\x7f"
        damaged.write_bytes(changed)
        assert fails(damaged, LAST, LAST).endswith(f"but at most {LARGEST_MEMBER} make sense")
        changed = bytearray(whole)
        changed[entry + 8] |= 1
        damaged.write_bytes(changed)
        assert f"{member.filename} is encrypted" in fails(damaged, LAST, LAST)
    damaged.write_bytes(whole)
    assert read_rows(damaged.parent, 4)


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_members_are_compressed_as_they_were_packed(damaged: Path, kind: int) -> None:
    write(damaged, members(damaged), kind)
    assert "not compressed by LZMA" in fails(damaged)


@pytest.mark.dear
def test_no_more_is_decompressed_than_a_member_is_said_to_have(damaged: Path) -> None:
    content = dict(members(damaged))
    name, said = next((name, text) for name, text in content.items() if name not in {HEAD, END})
    bomb = said + bytes(2**26)
    write(damaged, (content | {name: bomb}).items())
    sizes = zlib.crc32(bomb).to_bytes(4, "little"), len(bomb).to_bytes(4, "little")
    data = damaged.read_bytes().replace(sizes[0], zlib.crc32(said).to_bytes(4, "little"))
    damaged.write_bytes(data.replace(sizes[1], len(said).to_bytes(4, "little")))
    assert len(data) < 2**16
    tracemalloc.start()
    try:
        assert fails(damaged) == f" the member {name} is damaged"
        assert tracemalloc.get_traced_memory()[1] < 2**25  # of which an archive may have half
    finally:
        tracemalloc.stop()


def test_the_whole_is_bounded_too(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "LARGEST_FILE", sum(len(text) for _, text in members(damaged)) - 1)
    assert "when it is unpacked" in fails(damaged, 3, 3)


def test_a_python_without_lzma_is_told(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packed._decompress.cache_clear()
    monkeypatch.setitem(sys.modules, "lzma", None)
    assert run(["catalog", "verify", "-n", "8", "-d", "4", "--catalog", str(directory)]) == 2
    assert "without the module lzma" in capsys.readouterr().err
