"""Schedule files: round trips, equal bytes for equal schedules, clear errors for whatever can be wrong."""

from __future__ import annotations

import io
import json
import tracemalloc
import warnings
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.old_files import FILE_COLUMNS, load_schedule, save_schedule
from tests.samples.schedules import COLLECTIVES, COLUMNS, Collective, make, valid
from topodesign.base.cost import Cost
from topodesign.base.errors import FileFormatError, ScheduleError, TopodesignError
from topodesign.base.spec import parse
from topodesign.plans.flow import Flow
from topodesign.topology.topology import Topology

Members = dict[str, bytes]


def sample() -> tuple[Topology, Flow]:
    return valid(np.random.default_rng(5), "allreduce")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    topology, schedule = sample()
    path = tmp_path / "some.npz"
    save_schedule(path, schedule, topology, claim=Cost(9, Fraction(7, 3)), generator={"method": "random", "seed": 5})
    return path


def members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, content: Members) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)


def with_header(content: Members, **fields: Any) -> Members:
    header = json.loads(content["header.json"]) | fields
    return content | {"header.json": json.dumps(header).encode()}


def refused(path: Path, match: str) -> None:
    with pytest.raises(FileFormatError, match=match) as caught:
        load_schedule(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_round_trip(tmp_path: Path, collective: Collective) -> None:
    for seed in range(10):
        topology, schedule = valid(np.random.default_rng(seed), collective)
        path = tmp_path / f"{seed}.npz"
        save_schedule(path, schedule, topology)
        loaded_topology, loaded, header = load_schedule(path)
        assert loaded == schedule
        assert loaded_topology == topology
        assert (header.version, header.spec, header.claim) == (1, None, None)
        assert not loaded.step.flags.writeable


def test_header_survives(saved: Path) -> None:
    _, _, header = load_schedule(saved)
    assert header.claim == Cost(9, Fraction(7, 3))
    assert header.generator["method"] == "random"
    assert header.generator["program"].startswith("topodesign ")
    fields = json.loads(members(saved)["header.json"])
    assert (fields["format"], fields["version"]) == ("topodesign schedule", 1)
    assert fields["rows"] == len(sample()[1])


def test_spec_of_the_topology_is_kept_as_text(tmp_path: Path) -> None:
    ring = Topology.from_links(2, [(0, 1), (1, 0)])
    named = Topology(2, ring.src, ring.dst, ring.capacity, spec=parse("complete(2)"))
    schedule = make("allgather", 2, 1, [(1, 0, 1, 0, 0, 1), (1, 1, 0, 1, 0, 1)], steps=1)
    for spec, expected in ((None, "complete(2)"), ("biring(2,2)", "biring(2,2)")):
        save_schedule(tmp_path / "x.npz", schedule, named, spec=spec)
        topology, _, header = load_schedule(tmp_path / "x.npz")
        assert header.spec == expected
        assert topology.spec is None  # a file's text proves nothing


def test_large_numbers_and_empty_schedules(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    units = 2**62 - 1
    links = [(0, 1, 2**31 - 1), (1, 0, 1), (1, 2, 1), (2, 2, 1)]
    topology = Topology.from_links(3, links, switches=[2])
    schedule = make("allgather", 3, units, [(70000, 0, 1, 0, units - 2, units)], steps=2**31 - 1)
    save_schedule(path, schedule, topology)
    assert load_schedule(path)[:2] == (topology, schedule.having(place=topology))
    empty = make("allreduce", 1, 1, [], steps=0)
    save_schedule(path, empty, Topology.from_links(1, []))
    assert load_schedule(path)[1] == empty


def test_same_schedule_same_bytes(tmp_path: Path, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topology, schedule = sample()
    monkeypatch.setattr("time.time", lambda: 2e9)
    again = tmp_path / "again.npz"
    save_schedule(again, schedule, topology, claim=Cost(9, Fraction(7, 3)), generator={"method": "random", "seed": 5})
    assert again.read_bytes() == saved.read_bytes()


def test_numpy_reads_the_file(saved: Path) -> None:
    _, schedule = sample()
    with np.load(saved, allow_pickle=False) as archive:
        for member, name in zip(FILE_COLUMNS, COLUMNS, strict=True):
            assert np.array_equal(archive[member], getattr(schedule, name))
            assert archive[member].dtype == np.uint8


def test_columns_that_numpy_wrote_are_read(saved: Path, tmp_path: Path) -> None:
    """The layout is numpy's own, so other programs can write these files."""
    content = members(saved)
    with np.load(saved) as archive:
        arrays = {name: archive[name].astype("<u4") for name in archive.files if name != "header.json"}
    other = tmp_path / "other.npz"
    np.savez(other, **arrays)
    with zipfile.ZipFile(other, "a") as archive_file:
        archive_file.writestr("header.json", content["header.json"])
    assert load_schedule(other)[1] == sample()[1]


def test_replacing_is_atomic(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()
    topology, schedule = sample()

    def fail(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(TopodesignError, match="No space left"):
        save_schedule(saved, schedule, topology)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


@pytest.mark.parametrize("path", ["missing/dir/x.npz", "", ".", "/", "a\0b", "x" * 300])
def test_bad_paths(tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    topology, schedule = sample()
    with pytest.raises(TopodesignError, match="cannot write"):
        save_schedule(path, schedule, topology)
    with pytest.raises(FileFormatError):
        load_schedule(path)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    topology, schedule = sample()
    path = tmp_path / "x.npz"
    with pytest.raises(ScheduleError, match="nodes"):
        save_schedule(path, schedule, Topology.from_links(schedule.nodes + 1, [(0, 1)]))
    for bad in ({"x": {1}}, {"x": float("nan")}):
        with pytest.raises(TopodesignError, match="JSON"):
            save_schedule(path, schedule, topology, generator=bad)
    with pytest.raises(TopodesignError, match="header"):
        save_schedule(path, schedule, topology, spec="x" * 2**21)
    assert not path.exists()


def test_truncated_anywhere(saved: Path) -> None:
    data = saved.read_bytes()
    for size in range(0, len(data), 7):
        saved.write_bytes(data[:size])
        refused(saved, "damaged|an empty file")


def test_a_flipped_bit_is_noticed_or_harmless(saved: Path) -> None:
    """Every changed byte gives an error or the same schedule (dates and attributes of a zip mean nothing here)."""
    original = load_schedule(saved)
    data = saved.read_bytes()
    random = np.random.default_rng(0)
    errors = 0
    for position in random.permutation(len(data))[:500].tolist():
        changed = bytearray(data)
        changed[position] ^= 1 << int(random.integers(8))
        saved.write_bytes(changed)
        try:
            assert load_schedule(saved) == original
        except FileFormatError:
            errors += 1
    assert errors > 250


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_no_zip_at_all(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "noise.npz"
    path.write_bytes(data)
    refused(path, "damaged|an empty file|a spreadsheet")


def test_missing_extra_and_repeated_members(saved: Path) -> None:
    content = members(saved)
    for name in content:
        write(saved, {key: data for key, data in content.items() if key != name})
        refused(saved, f"no {name}" if name == "header.json" else f"{name} is missing")
    write(saved, content | {"zebra.npy": b""})
    refused(saved, r"zebra\.npy does not belong there")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write(saved, content)
        with zipfile.ZipFile(saved, "a") as archive:
            archive.writestr("step.npy", content["step.npy"])
    refused(saved, "twice")


BAD_FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"format": "other"}, "does not say"),
    ({"version": 2}, "format version 2, this program reads 1; use a newer"),
    ({"version": "1"}, "'version'"),
    ({"version": True}, "'version'"),
    ({"version": 0}, "'version'"),
    ({"collective": "alltoall"}, "unknown collective 'alltoall'"),
    ({"collective": ["allgather"]}, "unknown collective"),
    ({"nodes": 0}, "'nodes'"),
    ({"nodes": 2}, "nodes"),
    ({"nodes": 10**9}, "'nodes'"),
    ({"units": 1.5}, "'units'"),
    ({"units": 1}, "lo <= hi <= 1"),
    ({"units": 10**30}, "'units'"),
    ({"steps": 1}, "steps"),
    ({"steps": -1}, "'steps'"),
    ({"reduce_steps": 10**6}, "reduce_steps"),
    ({"rows": 10**12}, "'rows'"),
    ({"rows": 1}, "step.npy (declares|is not)"),
    ({"rows": 2**26}, "step.npy is not an array of 67108864"),
    ({"links": 0}, "link_src.npy"),
    ({"switches": None}, "'switches'"),
    ({"switches": [99]}, "switches must be among"),
    ({"switches": [True]}, "'switches'"),
    ({"spec": 3}, "'spec'"),
    ({"claim": "5 steps"}, "'claim'"),
    ({"claim": {"steps": 1}}, "'bandwidth'"),
    ({"claim": {"steps": -1, "bandwidth": "1"}}, "'steps'"),
    ({"claim": {"steps": 1, "bandwidth": "1/0"}}, "'bandwidth'"),
    ({"claim": {"steps": 1, "bandwidth": "1e999999999"}}, "'bandwidth'"),
    ({"claim": {"steps": 1, "bandwidth": 1.0}}, "'bandwidth'"),
    ({"generator": None}, "'generator'"),
]


@pytest.mark.parametrize(("fields", "match"), BAD_FIELDS)
def test_bad_header_fields(saved: Path, fields: dict[str, Any], match: str) -> None:
    write(saved, with_header(members(saved), **fields))
    refused(saved, match)


def test_unknown_header_keys_are_ignored(saved: Path) -> None:
    original = load_schedule(saved)
    write(saved, with_header(members(saved), colour="blue"))
    assert load_schedule(saved) == original


def test_headers_that_are_no_json_object(saved: Path) -> None:
    content = members(saved)
    for header in (b"", b"\xff\xfe", b"[" * 10**5, b"[1]", b"null", b"1" * 10**4):
        write(saved, content | {"header.json": header})
        refused(saved, r"header\.json")


def npy(array: np.ndarray[Any, Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def test_bad_columns(saved: Path) -> None:
    content = members(saved)
    rows = len(sample()[1])
    columns: list[tuple[np.ndarray[Any, Any], str]] = [
        (np.zeros(rows, dtype=np.int32), "not an array"),
        (np.ones(rows, dtype=np.float64), "not an array"),
        (np.ones((rows, 1), dtype=np.uint8), "not an array"),
        (np.ones(rows + 1, dtype=np.uint8), "not an array"),
        (np.ones(rows, dtype=">u2"), "not an array"),
        (np.array([None] * rows, dtype=object), "not an array"),
        (np.full(rows, 2**40, dtype=np.uint64), "number above"),
        (np.zeros(rows, dtype=np.uint8), "0 <= start < end"),
    ]
    for column, match in columns:
        write(saved, content | {"step.npy": npy(column)})
        refused(saved, match)
    write(saved, content | {"step.npy": b"\x93NUMPY\x01\x00"})
    refused(saved, "not an array")
    write(saved, content | {"link_src.npy": content["link_dst.npy"]})
    refused(saved, "links must be sorted")


def rewrite(path: Path, content: Members, name: str, **said: int) -> None:
    """Deflate all members, then change what the central directory says about one."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, value in content.items():
            archive.writestr(key, value)
        for field, number in said.items():
            setattr(archive.getinfo(name), field, number)


def test_zip_bombs(saved: Path) -> None:
    content = members(saved)
    bomb = bytes(5 * 10**7)
    rewrite(saved, content | {"step.npy": bomb}, "step.npy")
    assert saved.stat().st_size < 10**5
    refused(saved, "at most [0-9]+ make sense")
    tracemalloc.start()
    rewrite(saved, content | {"step.npy": bomb}, "step.npy", file_size=200)
    tracemalloc.reset_peak()
    refused(saved, "damaged|an empty file")
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()
    rewrite(saved, content | {"header.json": b" " * 10**7}, "header.json")
    refused(saved, "at most 1048576 make sense")


def test_encrypted_and_oddly_compressed_members(saved: Path) -> None:
    content = members(saved)
    rewrite(saved, content, "step.npy", flag_bits=1)
    refused(saved, "encrypted")
    rewrite(saved, content, "step.npy", compress_type=99)
    refused(saved, "unknown way")
