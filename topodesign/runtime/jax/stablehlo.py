"""StableHLO of a module, and its replay on all ranks.

JAX lowers for an abstract mesh, for which no device has to be there. Instructions are walked in MLIR, not in its text,
which abbreviates. Only those that such modules become are known; others are reported by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import MissingLibraryError, TopodesignError
from topodesign.runtime.jax.code import name_of

if TYPE_CHECKING:
    from topodesign.runtime.jax.module import Module

Value = NDArray[Any]
Ranked = list[Value]  # a value of every rank
Pairs = list[tuple[int, int]]
Act = Callable[..., Value]


class UnknownInstructionError(TopodesignError):
    """An instruction that the replay does not know."""


def lower_module(text: str, module: Module, platform: str = "cpu") -> tuple[str, Any]:
    """Return JAX's version and the StableHLO of a checked module.

    It is of an x that is filled up: of two elements for every piece, but for one less in the last.
    """
    try:
        import jax  # noqa: PLC0415  an extra
    except ImportError:
        raise MissingLibraryError("JAX is not installed: pip install 'topodesign[jax]'") from None

    names: dict[str, Any] = {"__name__": "topodesign_module"}
    exec(compile(text, "<module>", "exec"), names)  # noqa: S102  parse_module has compared its code with ours
    function = names[name_of(module.collective)]
    blocks = module.ranks if names["SPLITS"] else 1
    size = 2 * names["PIECES"] - (0 if module.whole else 1)
    mesh = jax.sharding.AbstractMesh((module.ranks,), ("x",))
    spec = jax.sharding.PartitionSpec("x")

    def body(x: Any) -> Any:
        return function(x[0] if names["SPLITS"] else x[0, 0], "x")[None]

    mapped = jax.shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec)
    shape = jax.ShapeDtypeStruct((module.ranks, blocks, size), np.uint32)
    found = jax.jit(mapped).trace(shape).lower(lowering_platforms=(platform,))
    return jax.__version__, found.compiler_ir("stablehlo")


def run_lowered(program: Any, given: Sequence[Value]) -> tuple[Ranked, list[Pairs]]:
    """Return final data of all ranks, and the permutations."""
    run = _Run(program, given)
    return run.call("main", [])[0], run.permutations


class _Run:
    """A replay with all ranks in step."""

    def __init__(self, program: Any, given: Sequence[Value]) -> None:
        self._given, self._ranks = given, len(given)
        self._functions = {op.name.value: op for op in program.body.operations if op.operation.name == "func.func"}
        self.permutations: list[Pairs] = []

    def call(self, name: str, arguments: Sequence[Ranked | None]) -> list[Ranked]:
        """Return a function's result; None is the argument of the first."""
        return self._block(self._functions[name].entry_block, arguments)

    def _block(self, block: Any, arguments: Sequence[Ranked | None]) -> list[Ranked]:
        values: dict[Any, Ranked | None] = dict(zip(block.arguments, arguments, strict=False))
        for instruction in block.operations:
            one = instruction.operation
            operands = [values.get(operand) for operand in one.operands]
            if one.name in {"func.return", "sdy.return"}:
                return [found for found in operands if found is not None]
            values |= zip(one.results, self._run_operation(one, operands), strict=True)
        raise UnknownInstructionError("a function that returns nothing")

    def _run_operation(self, one: Any, operands: list[Any]) -> list[Ranked]:
        if one.name == "sdy.manual_computation":
            block = one.regions[0].blocks[0]
            for at, (argument, value) in enumerate(zip(block.arguments, operands, strict=True)):
                if value is None:  # every rank has its part of x
                    operands[at] = [rows.reshape(argument.type.shape) for rows in self._given]
            return self._block(block, operands)
        if one.name == "func.call":
            return self.call(one.attributes["callee"].value, operands)
        if one.name == "stablehlo.partition_id":
            return [[np.array(rank, dtype=np.uint32) for rank in range(self._ranks)]]
        if one.name == "stablehlo.collective_permute":
            return [self._permute(one, operands[0])]
        act = _ACTS.get(one.name.removeprefix("stablehlo."))
        if act is None:
            raise UnknownInstructionError(f"{one.name} is not one of the instructions that are known")
        ready = act(one, one.results[0].type)
        return [[ready(*(operand[rank] for operand in operands)) for rank in range(self._ranks)]]

    def _permute(self, one: Any, sent: Ranked) -> Ranked:
        pairs = [(int(a), int(b)) for a, b in np.array(one.attributes["source_target_pairs"]).reshape(-1, 2)]
        self.permutations.append(pairs)
        came = [np.zeros_like(value) for value in sent]
        for src, dst in pairs:
            came[dst] = sent[src]
        return came


def _kind(found: Any) -> np.dtype[Any]:
    """Return the type of the elements of a tensor."""
    word = str(found.element_type)
    kinds = {"i1": "bool", "i32": "int32", "ui32": "uint32", "i64": "int64", "ui64": "uint64"}
    if word not in kinds:
        raise UnknownInstructionError(f"numbers of type {word} are not known")
    return np.dtype(kinds[word])


def _constant(one: Any, kind: Any) -> Act:
    value = np.array(one.attributes["value"]).astype(_kind(kind))  # where all are equal it may have one of them
    value = np.broadcast_to(value.reshape(-1)[0] if value.size == 1 else value, kind.shape)
    return lambda: value


def _broadcast(one: Any, kind: Any) -> Act:
    dims = list(one.attributes["broadcast_dimensions"])

    def act(x: Value) -> Value:
        shape = [1] * len(kind.shape)
        for at, dim in enumerate(dims):
            shape[dim] = x.shape[at]
        return np.broadcast_to(x.reshape(shape), kind.shape)

    return act


def _slice(one: Any, kind: Any) -> Act:  # noqa: ARG001  all have both
    first, end, step = (list(one.attributes[name]) for name in ("start_indices", "limit_indices", "strides"))
    place = tuple(slice(*ends) for ends in zip(first, end, step, strict=True))
    return lambda x: x[place]


def _dynamic_slice(one: Any, kind: Any) -> Act:  # noqa: ARG001
    sizes = list(one.attributes["slice_sizes"])
    return lambda x, *at: x[_window(x, at, sizes)]


def _window(x: Value, at: Sequence[Value], sizes: Sequence[int]) -> tuple[slice, ...]:
    """Return the start of a slice, moved inside its bounds."""
    first = [min(max(int(one), 0), whole - size) for one, whole, size in zip(at, x.shape, sizes, strict=True)]
    return tuple(slice(a, a + size) for a, size in zip(first, sizes, strict=True))


def _update(one: Any, kind: Any) -> Act:  # noqa: ARG001
    def act(x: Value, piece: Value, *at: Value) -> Value:
        made = x.copy()
        made[_window(x, at, piece.shape)] = piece
        return made

    return act


def _pad(one: Any, kind: Any) -> Act:  # noqa: ARG001
    low, high, inner = (list(one.attributes[word]) for word in _PADDING)
    if any(inner) or min(*low, *high) < 0:
        raise UnknownInstructionError("padding between elements, or of less than none, is not known")
    return lambda x, value: np.pad(x, list(zip(low, high, strict=True)), constant_values=value)


def _concatenate(one: Any, kind: Any) -> Act:  # noqa: ARG001
    axis = int(one.attributes["dimension"].value)
    return lambda *parts: np.concatenate(parts, axis=axis)


def _compare(one: Any, kind: Any) -> Act:  # noqa: ARG001
    word = str(one.attributes["comparison_direction"]).split()[-1].rstrip(">")
    return {
        "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal, "EQ": np.equal,
        "NE": np.not_equal,
    }[word]  # fmt: skip


def _gather(one: Any, kind: Any) -> Act:  # noqa: ARG001
    """Rows of a table by their numbers, and no other gather."""
    import jaxlib.mlir.dialects.stablehlo as hlo  # noqa: PLC0415  of JAX

    how = hlo.GatherDimensionNumbers(one.attributes["dimension_numbers"])
    shape = tuple(one.operands[0].type.shape)
    rows = (list(how.collapsed_slice_dims), list(how.start_index_map), how.index_vector_dim) == ([0], [0], 1)
    if not rows or list(one.attributes["slice_sizes"]) != [1, *shape[1:]] or list(how.offset_dims) != [1]:
        raise UnknownInstructionError("a gather of anything but whole rows is not known")
    return lambda x, index: x[np.clip(index[:, 0], 0, len(x) - 1)]


def _scatter(one: Any, kind: Any) -> Act:  # noqa: ARG001
    """Write or add rows by index, ignoring those out of range."""
    import jaxlib.mlir.dialects.stablehlo as hlo  # noqa: PLC0415  of JAX

    how = hlo.ScatterDimensionNumbers(one.attributes["scatter_dimension_numbers"])
    rows = list(how.inserted_window_dims), list(how.scattered_dims_to_operand_dims), how.index_vector_dim
    inner = [part.operation.name for part in one.regions[0].blocks[0].operations]
    if rows != ([0], [0], 1) or list(how.update_window_dims) != [1] or inner[:-1] not in ([], ["stablehlo.add"]):
        raise UnknownInstructionError("a scatter of anything but whole rows is not known")

    def act(x: Value, index: Value, piece: Value) -> Value:
        made, at = x.copy(), index[:, 0]
        there = (at >= 0) & (at < len(x))
        if inner[:-1]:
            np.add.at(made, at[there], piece[there])
        else:
            made[at[there]] = piece[there]
        return made

    return act


def _plain(function: Callable[..., Any]) -> Callable[[Any, Any], Act]:
    return lambda _one, _kind: function


_PADDING = ("edge_padding_low", "edge_padding_high", "interior_padding")
_ACTS: Mapping[str, Callable[[Any, Any], Act]] = {
    "constant": _constant,
    "broadcast_in_dim": _broadcast,
    "reshape": lambda _, kind: lambda x: x.reshape(kind.shape),
    "convert": lambda _, kind: lambda x: x.astype(_kind(kind)),
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _update,
    "pad": _pad,
    "concatenate": _concatenate,
    "compare": _compare,
    "select": _plain(np.where),
    "add": _plain(np.add),
    "subtract": _plain(np.subtract),
    "multiply": _plain(np.multiply),
    "divide": _plain(np.floor_divide),  # of numbers that are not negative
    "remainder": _plain(np.remainder),
    "gather": _gather,
    "scatter": _scatter,
}
