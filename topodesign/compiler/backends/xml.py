"""MSCCL XML from columns, with limit checks and byte-identical text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.compiler.columns import BITS, BUFFERS, KINDS, NUMBER, RECEIVES, SENDS, Columns
from topodesign.compiler.instructions import Kind
from topodesign.compiler.ir import Program
from topodesign.compiler.limits import over
from topodesign.runtime.msccl.profiles import LARGEST_SIZE, MAX_SCRATCH, SCRATCH_COMFORT, RuntimeProfile

_TYPES = {
    Kind.SEND: "s",
    Kind.RECEIVE: "r",
    Kind.RECEIVE_COPY_SEND: "rcs",
    Kind.RECEIVE_REDUCE_COPY: "rrc",
    Kind.RECEIVE_REDUCE_SEND: "rrs",
    Kind.RECEIVE_REDUCE_COPY_SEND: "rrcs",
    Kind.COPY: "cpy",
    Kind.REDUCE: "re",
}
_WORDS = np.array([*(_TYPES[kind] for kind in KINDS), "nop"])
_LETTERS = np.array([buffer.value[0] for buffer in BUFFERS])
_NAME = re.compile(r"[A-Za-z0-9_.,()+-]+")
_USUAL_LARGEST = 2**32  # bytes of a call; beyond, scratch is taken for what hardly ever comes


def to_xml(
    program: Program, *, profile: RuntimeProfile, name: str, min_bytes: int = 0, max_bytes: int | None = None
) -> str:
    """Check a program's limits and write it as XML.

    If no largest call is given, it is for all, or for those of :func:`default_largest`.
    """
    if not _NAME.fullmatch(name) or len(name) > profile.value_length:
        raise ParameterError(
            f"the name {name[:40]!r} must be of letters, digits and _.,()+- and at most {profile.value_length} long"
        )
    for broken in lint(program, profile):
        raise InfeasibleError(broken)
    limit = _max_bytes(program, profile, min_bytes, max_bytes)
    head: dict[str, str | int] = {
        "name": name,
        "proto": program.protocol,
        "nchannels": program.channels,
        "nchunksperloop": program.chunks,
        "ngpus": program.ranks,
        "coll": profile.coll(program.collective),
        "inplace": int(program.inplace),
        "outofplace": int(not program.inplace),
        "minBytes": min_bytes,
        "maxBytes": limit,
    }
    lines = [_tag("algo", head)]
    own, (steps, ends) = program.columns, _steps(program)
    starts = own.starts.tolist()
    blocks = list(zip(*(column.tolist() for column in (own.send, own.receive, own.channel)), strict=True))
    for rank, scratch in enumerate(own.scratch.tolist()):
        chunks = {"i_chunks": program.input_chunks, "o_chunks": program.output_chunks, "s_chunks": scratch}
        lines.append("  " + _tag("gpu", {"id": rank, **chunks}))
        for number, block in enumerate(range(starts[rank], starts[rank + 1])):
            send, receive, channel = blocks[block]
            about = {"id": number, "send": send, "recv": receive, "chan": channel}
            low, high = ends[block], ends[block + 1]
            lines.append("    " + _tag("tb", about, ">" if low < high else "/>"))
            if low < high:
                lines.append(steps[low:high] + "    </tb>")
        lines.append("  </gpu>")
    return "\n".join([*lines, "</algo>", ""])


def _tag(name: str, attributes: Mapping[str, str | int], end: str = ">") -> str:
    """Return a tag; nothing in the values has to be escaped."""
    return f"<{name} " + " ".join(f'{key}="{value}"' for key, value in attributes.items()) + end


def default_largest(program: Program, profile: RuntimeProfile) -> int | None:
    """Return the default largest call (bytes), None for any.

    Without scratch, and where a runtime takes scratch as calls need it: any. Where it takes scratch for the largest
    call at its start: the largest power of two up to 4 GiB with which no rank takes more than 1 GiB.

    Examples
    --------
    >>> from topodesign import compile_plan, schedule
    >>> from topodesign.runtime.msccl.profiles import get_profile
    >>> program = compile_plan(schedule("circulant(12,2,3)", "reduce-scatter")).program
    >>> default_largest(program, get_profile("msccl")), default_largest(program, get_profile("rccl"))
    (2147483648, None)
    """
    most = int(program.columns.scratch.max())
    if not most or not profile.scratch_at_start:
        return None
    fitting = SCRATCH_COMFORT * program.chunks // most
    return min(_USUAL_LARGEST, 1 << fitting.bit_length() - 1)


def _max_bytes(program: Program, profile: RuntimeProfile, smallest: int, largest: int | None) -> int:
    """Return the ``maxBytes`` for a range of calls."""
    if largest is None:
        largest = default_largest(program, profile)
        if largest is not None and largest < smallest:
            raise ParameterError(
                f"{profile.name} takes scratch for the largest call when it starts, and by default that is "
                f"one of {largest} bytes: calls from {smallest} bytes on require --set max-size="
            )
    elif not 1 <= largest < LARGEST_SIZE:
        raise ParameterError(f"the largest call must be from 1 byte to less than 2^63 - 1, not {largest} bytes")
    limit = profile.max_bytes(largest)
    if unused := profile.why_unused(smallest, limit, program.chunks):
        raise ParameterError(f"calls from {smallest} to {largest} bytes: {unused}")
    scratch = profile.scratch_bytes(limit, int(program.columns.scratch.max()), program.chunks)
    if profile.scratch_at_start and scratch is not None and scratch > MAX_SCRATCH:
        raise ParameterError(
            f"calls up to {largest} bytes take {scratch} bytes of scratch on a rank; use less --set max-size="
        )
    return limit


def _match_ends(own: Columns) -> Ints:
    """Return each operation's place at the remote end, or -1.

    The runtimes ignore these fields, but other tools compare them, and they tell people what goes where. A receiver
    that only adds and passes on stands for what it adds.
    """
    found, block = np.full(len(own.kind), -1), own.block
    send, receive, _ = own.connections()
    keys, rows = [], []
    for does, line in ((SENDS, send), (RECEIVES, receive)):
        at = np.flatnonzero(does[own.kind] & (line[block] >= 0))
        order = np.argsort(line[block[at]], kind="stable")
        at, lines = at[order], line[block[at]][order]
        keys.append(lines * (len(found) + 1) + np.arange(len(at)) - np.searchsorted(lines, lines))
        rows.append(at)
    _, *both = np.intersect1d(
        keys[0], keys[1], assume_unique=True, return_indices=True
    )  # as many of both, or the check tells
    sends, receives = (line[at] for line, at in zip(rows, both, strict=True))
    plain = own.kind[receives] == NUMBER[Kind.RECEIVE]
    passed = np.where(own.kind[sends] == NUMBER[Kind.SEND], -1, own.target[sends])
    found[receives[plain]] = np.where(passed < 0, own.source[sends], passed)[plain]
    bare = own.target[sends] < 0
    landed = own.target[receives]
    found[sends[bare]] = np.where(landed < 0, own.source[receives], landed)[bare]
    return found


def _steps(program: Program) -> tuple[str, list[int]]:
    """Return step lines and threadblock offsets, with nops for waits."""
    own = program.columns
    other, copies = _match_ends(own), own.kind == NUMBER[Kind.RECEIVE_COPY_SEND]
    places = (
        np.where(own.source >= 0, own.source, np.where(copies, own.target, other)),
        np.where(own.target >= 0, own.target, other),
    )
    number = np.maximum(1, np.diff(own.waits))
    ends = np.cumsum(number)  # of each instruction, counting steps
    begin = np.concatenate(([0], ends))[own.first]
    block = own.block
    here = own.starts[own.rank[np.repeat(block, np.diff(own.waits))]] + own.other
    awaited = own.first[here] + own.position
    hasdep = np.zeros(len(own.kind), dtype=np.int64)
    hasdep[awaited] = 1
    wait = np.full((2, ends[-1] if len(ends) else 0), -1)
    row = np.repeat(np.arange(len(number)), number)
    waiting = np.diff(own.waits)[row] > 0
    wait[0, waiting], wait[1, waiting] = own.other, ends[awaited] - 1 - begin[here]
    last = np.zeros(len(row), dtype=bool)
    last[ends - 1] = True
    columns = [np.arange(len(row)) - begin[block][row], _WORDS[np.where(last, own.kind[row], -1)]]
    for place, nowhere in zip(places, "io", strict=True):  # as the MSCCL tools wrote a nop
        letters = np.where(last, _LETTERS[np.maximum(place, 0) >> BITS][row], nowhere)
        columns += [letters, np.where(last & (place >= 0)[row], place[row] & (1 << BITS) - 1, -1)]
    columns += [np.where(last, own.size[row], 0), *wait, np.where(last, hasdep[row], 0)]
    pieces, parts = [word.encode() for word in _STEP.split("%")], [_characters(column) for column in columns]
    line = b"".join(piece + bytes(part.shape[1]) for piece, part in zip(pieces, [*parts, parts[0][:, :0]], strict=True))
    lines = np.tile(np.frombuffer(line, dtype=np.uint8), (min(_LINES, len(row)), 1))
    texts = []
    for start in range(0, len(row), _LINES):
        some, end = lines[: len(row) - start], 0
        for piece, part in zip(pieces, parts, strict=False):
            end += len(piece)
            some[:, end : end + part.shape[1]] = part[start : start + _LINES]
            end += part.shape[1]
        texts.append(some.tobytes().translate(None, b"\0"))
    sizes = sum((digits > 0 for part in parts for digits in part.T), np.full(len(row), sum(map(len, pieces))))
    return b"".join(texts).decode(), np.concatenate(([0], np.cumsum(sizes)))[begin].tolist()


_LINES = 2**12  # that are made at a time
_STEP = (
    '      <step s="%" type="%" srcbuf="%" srcoff="%" dstbuf="%" dstoff="%" cnt="%" depid="%" deps="%" hasdep="%"/>\n'
)


def _characters(column: NDArray[Any]) -> NDArray[np.uint8]:
    """Return words or integers (from -1) as zero-padded ASCII rows."""
    if column.dtype.kind == "U":
        return column.view(np.uint32).reshape(len(column), column.dtype.itemsize // 4).astype(np.uint8)
    if (most := int(column.max(initial=0))) + 2 < len(column):  # those of every integer there may be
        return _characters(np.arange(-1, most + 1)).take(column + 1, axis=0)
    places = 10 ** np.arange(len(str(most)))[::-1]
    digits = np.where((column[:, None] >= places) | (places == 1), abs(column)[:, None] // places % 10 + ord("0"), 0)
    return np.column_stack((np.where(column < 0, ord("-"), 0), digits)).astype(np.uint8)


def lint(program: Program, profile: RuntimeProfile) -> Iterator[str]:
    """Yield every limit of the profile that a program exceeds."""
    of = f"the runtime {profile.name}"
    yield from over(of, "channels", profile.channels, program.channels)
    yield from over(of, "ranks", profile.children_per_node, program.ranks)
    own = program.columns
    starts, ranks = own.starts, len(own.scratch)
    blocks, steps, rank = np.diff(starts), own.steps, own.rank[own.block]
    offsets = [(places & (1 << BITS) - 1) * (places >= 0) for places in (own.source, own.target)]
    nodes = 1 + ranks + blocks + np.bincount(own.rank, weights=steps, minlength=ranks).astype(np.int64)
    channels = int(own.channel.max(initial=0)) + 1
    place, busiest = own.rank * channels + own.channel, []
    for word, peers in (("send", own.send), ("receive", own.receive)):
        busy = np.bincount(place[peers >= 0], minlength=ranks * channels).reshape(ranks, channels)
        busiest.append((word, busy.max(axis=1)))
    rows = (
        ("threadblocks per rank", profile.threadblocks_per_rank, blocks),
        ("threadblocks running at once", profile.resident_threadblocks, blocks),
        (
            "steps per threadblock, nops included",
            min(profile.steps_per_threadblock, profile.children_per_node),
            _most(own.rank, steps, ranks),
        ),
        ("XML nodes that one rank reads", profile.xml_nodes_per_rank, nodes),
        *((f"threadblocks that {word} on a channel", profile.threadblocks_per_channel, busy) for word, busy in busiest),
        ("chunks per step", profile.chunks_per_step, _most(rank, own.size, ranks)),
        ("as the largest chunk offset", profile.largest_offset, _most(rank, np.maximum(*offsets), ranks)),
    )
    for one in range(ranks) if any((number > most).any() for _, most, number in rows) else ():
        for what, most, number in rows:
            yield from over(of, what, most, int(number[one]), one)


def _most(rank: Ints, values: Ints, ranks: int) -> Ints:
    """Return the largest value of each rank, or 0."""
    found = np.zeros(ranks, dtype=np.int64)
    np.maximum.at(found, rank, values)
    return found
