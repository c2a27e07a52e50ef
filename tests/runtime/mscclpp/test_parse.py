"""What MSCCL++ asks of a plan: fields, their types, and numbers that fit one another."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.runtime.mscclpp.test_check import gathering, pair
from topodesign.base.errors import FileFormatError
from topodesign.runtime.mscclpp.parse import MAX_BYTES, PlanError, parse_plan


def plan() -> dict[str, Any]:
    return pair(lambda rank: [gathering(rank)])


@pytest.mark.parametrize("key", ["name", "collective", "protocol", "inplace", "gpus"])
def test_fields_without_a_default_are_required(key: str) -> None:
    document = plan()
    del document[key]
    with pytest.raises(PlanError, match=f"has no '{key}'"):
        parse_plan(json.dumps(document))


def test_the_rest_has_defaults() -> None:
    document = {key: plan()[key] for key in ("name", "collective", "protocol", "inplace", "gpus")}
    read = parse_plan(json.dumps(document))
    assert (read.alignment, read.threads, read.min_size, read.max_size) == (16, 1024, 0, None)
    assert not read.double_scratch
    assert read.gpus[0].channels["memory"] == (1,)
    assert read.gpus[0].threadblocks[0].operations[3].name == "put"


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("gpus", 0, "id"), 1, "must be 0, its place"),
        (("gpus", 0, "threadblocks", 0, "id"), 1, "must be 0, its place"),
        (("gpus", 0, "input_chunks"), 0, "from 1 to"),
        (("gpus", 0, "input_chunks"), True, "must be an integer"),
        (("gpus", 0, "input_chunks"), 10**30, "many digits"),
        (("gpus", 0, "channels", 0, "channel_type"), "wire", "'wire' is not one of memory, port, switch"),
        (("gpus", 0, "channels", 0, "connected_to", 0), 2, "from 0 to 1"),
        (("gpus", 0, "remote_buffers", 0, "rank"), 0, "names rank 0 itself"),
        (("gpus", 0, "remote_buffers", 0, "access_channel_types"), ["port"], "is not reached by a memory channel"),
        (("gpus", 0, "threadblocks", 0, "channels", 0, "channel_ids", 0), 1, "from 0 to 0"),
        (("gpus", 0, "threadblocks", 0, "ops", 3, "name"), "send", "'send' is not one of"),
        (("gpus", 0, "threadblocks", 0, "ops", 3, "dst_buff", 0, "buffer_id"), 1, "from 0 to 0"),
        (("gpus", 0, "threadblocks", 0, "ops", 3, "src_buff", 0), {"index": 0, "size": 1}, "names no buffer"),
        (("gpus", 0, "threadblocks", 0, "ops", 3, "channel_type"), "none", "of which the threadblock has none"),
        (("gpus", 0, "threadblocks", 0, "ops", 2), {"name": "sem_acquire", "semaphore_ids": [0]}, "has no semaphores"),
        (("inplace",), 1, "must be true or false"),
        (("name",), 1, "must be a text"),
        (("gpus",), {}, "must be a list"),
        (("gpus",), [], "has no rank"),
        (("gpus", 0), 3, "must be an object"),
    ],
)
def test_wrong_values_are_named_with_their_place(path: tuple[Any, ...], value: Any, words: str) -> None:
    document: Any = plan()
    inside = document
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    with pytest.raises(PlanError) as caught:
        parse_plan(json.dumps(document))
    assert words in str(caught.value)
    assert str(path[0]) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "3", '{"name": NaN}', '{"a": 1, "a": 2}', "[" * 100_000, '{"name": ' + "9" * 5000 + "}", "\ud800"],
    ids=lambda text: text[:12],
)
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(FileFormatError):
        parse_plan(text)


def test_what_is_ignored_is_said() -> None:
    document = plan()
    document["protocol"] = "LL128"
    document["gpus"][0]["threadblocks"][0]["ops"][3]["reduce_op"] = "max"
    said = " ".join(parse_plan(json.dumps(document)).warnings)
    assert "taken for Simple" in said
    assert "adds up whatever it says" in said


def test_large_files_are_refused_unread(tmp_path: Any) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    with pytest.raises(FileFormatError, match="larger than"):
        parse_plan(path)
    with pytest.raises(FileFormatError):
        parse_plan(tmp_path)
