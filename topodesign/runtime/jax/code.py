"""The common code of JAX modules.

The checker takes a module only if its code is this; the rest is data, which it replays. So nothing that is unknown is
ever executed, and who has read the code once has read that of all modules.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from topodesign.collectives import Collective

REFERENCES = {
    "allgather": "lax.all_gather(x, axis_name)",
    "reduce-scatter": "lax.psum_scatter(x, axis_name)",
    "allreduce": "lax.psum(x, axis_name)",
    "broadcast": "lax.all_gather(x, axis_name)[ROOT]",
    "reduce": "jnp.where(lax.axis_index(axis_name) == ROOT, lax.psum(x, axis_name), 0)",
    "scatter": "lax.all_gather(x, axis_name)[ROOT][lax.axis_index(axis_name)]",
    "gather": "jnp.where(lax.axis_index(axis_name) == ROOT, lax.all_gather(x, axis_name), 0)",
    "all-to-all": "lax.all_to_all(x, axis_name, 0, 0)",
}
"""What collectives are the same as, said with JAX's own."""

HEADER = ("RANKS", "ROOT", "SPLITS", "JOINS", "PIECES")
"""Names of the numbers before the code; ``PHASES`` come after it."""

CHANGES = "CHANGES"
"""Name of one more: the numbers of steps after each of which circuits change, where they do."""

AMOUNTS = "AMOUNTS"
"""Name of one more: of the pieces of each block those that are sent, by sender and receiver, where these differ."""

_CODE = '''\
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def NAME(x, axis_name, *, tiled=False):
    """Do it with the x of this device, inside jax.shard_map, along a mesh axis of RANKS devices.

    Any shape and type; where blocks belong to devices, the first axis of x or of the result counts them, or with
    tiled=True holds them one after another.
    """
    if lax.axis_size(axis_name) != RANKS:
        raise ValueError(f"NAME is for {RANKS} devices, and axis {axis_name!r} has {lax.axis_size(axis_name)}")
    x = jnp.asarray(x)
    if SPLITS and tiled:
        x = x.reshape(RANKS, x.shape[0] // RANKS, *x.shape[1:])
    if SPLITS and x.shape[:1] != (RANKS,):
        raise ValueError(f"NAME needs a first axis of {RANKS} blocks, one for each device, and x has shape {x.shape}")
    shape = x.shape[1:] if SPLITS else x.shape
    size = math.prod(shape)
    width = max(1, -(-size // PIECES))
    rows = jnp.pad(x.reshape(RANKS if SPLITS else 1, size), ((0, 0), (0, width * PIECES - size)))
    rows = rows.reshape(-1, width)
    rank = lax.axis_index(axis_name)
    for phase in PHASES:
        rows = _take(rows, phase["start"], rank)
        for step in phase["steps"]:
            sent = [_take(rows, move["take"], rank) for move in step]
            got = [lax.ppermute(part, axis_name, move["pairs"]) for part, move in zip(sent, step)]
            for part, move in zip(got, step):
                rows = _put(rows, move["put"], rank, part, phase["adds"])
        rows = _take(rows, phase["finish"], rank)
    rows = rows.reshape(RANKS if JOINS else 1, width * PIECES)[:, :size]
    if not JOINS:
        return rows.reshape(shape)
    return rows.reshape(RANKS * shape[0], *shape[1:]) if tiled else rows.reshape(RANKS, *shape)


def _take(rows, places, rank):
    """Return some rows: places are runs (first, end) of them, or runs for every rank; below 0 are rows of zeros."""
    if len(places) == 1:
        parts = [rows[a:b] if a >= 0 else jnp.zeros_like(rows, shape=(b - a, rows.shape[1])) for a, b in places[0]]
        return parts[0] if len(parts) == 1 else jnp.concatenate(parts)
    table = _table(places)
    got = rows.at[jnp.asarray(np.maximum(table, 0))[rank]].get(mode="promise_in_bounds")
    return jnp.where(jnp.asarray(table >= 0)[rank][:, None], got, jnp.zeros_like(got)) if table.min() < 0 else got


def _put(rows, places, rank, part, adds):
    """Return the rows with what came put, or added, at these places."""
    if len(places) > 1:
        table = _table(places)
        index = jnp.asarray(np.where(table < 0, rows.shape[0], table))[rank]
        return rows.at[index].add(part, mode="drop") if adds else rows.at[index].set(part, mode="drop")
    at = 0
    for a, b in places[0]:
        if a >= 0:
            piece = part[at : at + b - a]
            rows = lax.dynamic_update_slice_in_dim(rows, rows[a:b] + piece if adds else piece, a, 0)
        at += b - a
    return rows


def _table(places):
    """Return the rows of every rank, shape (ranks, rows)."""
    return np.array([[row for a, b in runs for row in range(a, b)] for runs in places], dtype=np.int32)


def reference(x, axis_name):
    """Return the same by JAX's own collectives."""
    return REFERENCE


def main():
    """Compare both, on as many devices; where there are fewer, on as many of the CPU."""
    jax.config.update("jax_num_cpu_devices", RANKS)
    devices = jax.devices() if len(jax.devices()) >= RANKS else jax.devices("cpu")
    mesh = jax.sharding.Mesh(np.array(devices[:RANKS]), ("x",))
    spec = jax.sharding.PartitionSpec("x")
    x = np.arange(RANKS * RANKS * 1001, dtype=np.int32).reshape(RANKS, RANKS, 1001) % 10007
    run = jax.shard_map(lambda x: (NAME(x[0], "x")[None], reference(x[0], "x")[None]), mesh=mesh, in_specs=spec,
                        out_specs=spec)
    got, wanted = jax.jit(run)(x)
    right = np.array_equal(got, wanted)
    print(f"{'ok' if right else 'WRONG'}: NAME of {RANKS} {devices[0].platform} devices")
    return 0 if right else 1

'''

_WHOLE = _CODE[_CODE.index("    if lax.axis_size") : _CODE.index("def _take(")]
_RESULT = _WHOLE[_WHOLE.index("    rows = rows.reshape(RANKS if JOINS") :]
_MAIN = _CODE[_CODE.index("    right = ") :]

_STAGES = """\
    x = jnp.asarray(x)
    for stage in stages(x.shape, axis_name, tiled=tiled):
        x = stage(x)
    return x


def stages(whole, axis_name, *, tiled=False):
    \"\"\"Return what to call one after the other inside jax.shard_map, a function for the circuits of each phase.

    whole is the shape of x on one device, which the first takes; the last returns the result, the others return rows
    for the next. Between two of them circuits change: call each by itself, and wait for the circuits.
    \"\"\"
    if SPLITS and tiled:
        whole = (RANKS, whole[0] // RANKS, *whole[1:])
    if SPLITS and tuple(whole[:1]) != (RANKS,):
        raise ValueError(f"NAME needs a first axis of {RANKS} blocks, one for each device, and x has shape {whole}")
    shape = tuple(whole[1:] if SPLITS else whole)
    size = math.prod(shape)
    width = max(1, -(-size // PIECES))
    ends = [0, *CHANGES, sum(len(phase["steps"]) for phase in PHASES)]

    def between(first, last):
        def stage(rows):
            if lax.axis_size(axis_name) != RANKS:
                raise ValueError(f"NAME is for {RANKS} devices, and axis {axis_name!r} has {lax.axis_size(axis_name)}")
            if first == 0:
                rows = rows.reshape(RANKS if SPLITS else 1, size)
                rows = jnp.pad(rows, ((0, 0), (0, width * PIECES - size))).reshape(-1, width)
            rank = lax.axis_index(axis_name)
            done = 0
            for phase in PHASES:
                begins, done = done, done + len(phase["steps"])
                if first <= begins < last:
                    rows = _take(rows, phase["start"], rank)
                for step in phase["steps"][max(0, first - begins) : max(0, last - begins)]:
                    sent = [_take(rows, move["take"], rank) for move in step]
                    got = [lax.ppermute(part, axis_name, move["pairs"]) for part, move in zip(sent, step)]
                    for part, move in zip(got, step):
                        rows = _put(rows, move["put"], rank, part, phase["adds"])
                if first < done <= last:
                    rows = _take(rows, phase["finish"], rank)
            return result(rows) if last == ends[-1] else rows

        return stage

    def result(rows):
RESULT
    return [between(first, last) for first, last in zip(ends, ends[1:])]


""".replace("RESULT", "".join(f"    {line}\n" for line in _RESULT.strip("\n").splitlines()))

_FINISH = '        rows = _take(rows, phase["finish"], rank)\n'
_TERMS = """\
        parts = jnp.split(rows, phase["terms"])
        rows = sum(parts[1:], parts[0])
"""

_X = "    x = np.arange(RANKS * RANKS * 1001, dtype=np.int32).reshape(RANKS, RANKS, 1001) % 10007\n"
_UNSENT = """\
    sent = np.array(AMOUNTS)[..., None] * max(1, -(-1001 // PIECES))
    x = np.where(np.arange(1001) < sent, x, 0)
"""

_BY_STAGES = """\
    state = x
    names = stages(x.shape[1:], "x")
    for number, stage in enumerate(names):
        given = (lambda x, stage=stage: stage(x[0])) if number == 0 else stage
        done = (lambda x, given=given: given(x)[None]) if number == len(names) - 1 else given
        state = jax.jit(jax.shard_map(done, mesh=mesh, in_specs=spec, out_specs=spec))(state)
    got = got if np.array_equal(got, state) else state
"""

ENDING = """
if __name__ == "__main__":
    raise SystemExit(main())
"""


def name_of(collective: Collective) -> str:
    """Return the name of the function."""
    return collective.name.replace("-", "_")


def code_of(collective: Collective, *, changing: bool = False, summing: bool = False, uneven: bool = False) -> str:
    """Return the code between the numbers and the data.

    That of circuits which change is called by stages; where ranks add up for themselves, phases end with sums.
    """
    if summing:
        code = _CODE.replace(_FINISH, _FINISH + _TERMS)
    else:
        code = _CODE.replace(_WHOLE, _STAGES).replace(_MAIN, _BY_STAGES + _MAIN) if changing else _CODE
    code = code.replace(_X, _X + _UNSENT) if uneven else code
    return code.replace("NAME", name_of(collective)).replace("REFERENCE", REFERENCES[collective.name])


def is_same_code(found: list[ast.stmt], wanted: str) -> bool:
    """Return whether statements equal a text but for layout."""
    return ast.dump(ast.Module(found, [])) == _dump_statements(wanted)


@lru_cache(64)
def _dump_statements(text: str) -> str:
    """Return a text's statements in comparable form, cached."""
    return ast.dump(ast.Module(ast.parse(text).body, []))


def buffers(collective: Collective, ranks: int) -> tuple[bool, bool, bool]:
    """Return whether input and output hold all ranks' blocks, and share them.

    The last is so for an allreduce, of whose blocks nobody knows.
    """
    anyone = collective.at(None)
    given, result = (len(one) > 1 for one in (anyone.inputs(0, ranks), anyone.outputs(0, ranks)))
    whole = given and result and not collective.pairwise
    return given and not whole, result and not whole, whole
