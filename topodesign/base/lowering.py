"""Object code of kernels by numba.

For machines without a C compiler. Imports numba, which is slow.

Numba is asked for object code alone: nothing that it compiles here runs before it is loaded like a file of it.
"""

# ruff: noqa: SLF001  numba has no other way to what is needed here, nor types for it
# mypy: disable-error-code="no-untyped-call,attr-defined"
from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.extending import overload
from numba.np import arrayobj, numpy_support
from numba.np.arrayobj import populate_array

_BLAS = "scipy.linalg.cython_blas"
"""What numba looks for when it first compiles: scipy's linear algebra takes as long to load as all else, and no kernel
needs it. Where others compile in the same process it is found when they use it, but for convolutions, slower then."""

with contextlib.suppress(ImportError):
    absent = sys.modules.setdefault(_BLAS, None) is None  # type: ignore[arg-type]
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        if absent:
            del sys.modules[_BLAS]

_OPTIONS = {"nopython": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_WORD, _HALF = ir.IntType(64), ir.IntType(32)
_OBJECT = ir.IntType(8).as_pointer()
_HEADER = object.__basicsize__  # bytes of an object before what it holds; the last eight are where its type is
_ITEMS = tuple.__basicsize__  # bytes of a tuple before its items


class _Function(CPUDispatcher):
    """A function compiled once for integers, not for each literal."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(tuple(map(types.unliteral, args)), kws)


class _Library(JITCodeLibrary):
    """Code that is linked into other code, but cannot run by itself."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


def _refuse_part(source: object, target: object) -> None:
    """Refuse to assign to a part of an array."""


@overload(_refuse_part)
def _refuse_other_size(source: Any, target: Any) -> Callable[[Any, Any], None]:  # noqa: ARG001
    """Raise an error of sizes in few words.

    Numba's own names both shapes, and compiling the code that prints numbers takes half of the time.
    """

    def refuse(source: Any, target: Any) -> None:  # noqa: ARG001
        raise ValueError("cannot assign a value of another size")

    return refuse


def compile_lazily(function: FunctionType, *, inlined: bool) -> Callable[..., object]:
    """Return a function for kernels that are compiled to call."""
    return _Function(function, targetoptions=_OPTIONS | {"no_cpython_wrapper": True, "forceinline": inlined})


def object_code(function: FunctionType, args: tuple[object, ...]) -> tuple[tuple[object, ...], bytes]:
    """Compile a function for argument types.

    Returns the objects that the code asks for, and the code.
    """
    compiled = _Function(function, targetoptions=_OPTIONS)
    context, objects = compiled.targetctx, []

    def wrap(library: Any, fndesc: Any, *_: object, **__: object) -> None:
        if (fndesc.modname, fndesc.qualname) == (function.__module__, function.__qualname__):
            objects.extend(_Wrapper(context.subtarget(enable_nrt=True), library, fndesc).objects)

    with (
        global_compiler_lock,
        _replace_attributes(context.codegen(), _library_class=_Library),
        _replace_attributes(arrayobj, raise_with_shape_context=_refuse_part),
        # numba tells functions apart by what it would call, and wants it built in
        _replace_attributes(
            context,
            create_cpython_wrapper=wrap,
            create_cfunc_wrapper=lambda *_: None,
            get_executable=lambda *_: {}.get,
        ),
    ):
        compiled._compilation_chain_init_hook()
        compiled.compile(tuple(map(compiled.typeof_pyval, args)))
        (made,) = compiled.overloads.values()
        made.library._ensure_finalized()
        return tuple(objects), context.codegen()._tm.emit_object(made.library._final_module)


def _holds_array(kind: Any) -> bool:
    return isinstance(kind, types.Array) or any(map(_holds_array, getattr(kind, "types", ())))


@contextlib.contextmanager
def _replace_attributes(owner: object, **attributes: object) -> Iterator[None]:
    """Replace attributes of an object or module inside a block."""
    own = {name: vars(owner)[name] for name in attributes if name in vars(owner)}
    vars(owner).update(attributes)
    try:
        yield
    finally:
        for name in attributes.keys() - own.keys():
            delattr(owner, name)
        vars(owner).update(own)


class _Wrapper:
    """The function ``enter`` around a kernel; see :mod:`topodesign.base.machine`."""

    def __init__(self, context: Any, library: Any, fndesc: Any) -> None:
        self.objects: list[object] = []
        module = library.create_ir_module("enter")
        kernel = ir.Function(
            module, context.call_conv.get_function_type(fndesc.restype, fndesc.argtypes), fndesc.llvm_func_name
        )
        enter = ir.Function(module, ir.FunctionType(_OBJECT, [_OBJECT] * 3), "enter")
        builder = ir.IRBuilder(enter.append_basic_block())
        self._refused, self._failed = (enter.append_basic_block(name) for name in ("refused", "failed"))
        self._context, self._builder, self._api = context, builder, context.get_python_api(builder)
        args, self._kinds, self._objects = enter.args
        self._checked = 0
        self._given: list[tuple[Any, Any]] = []
        self._gives = _holds_array(fndesc.restype)

        values = [value() for value in self._unpack(types.Tuple(fndesc.argtypes), args)]
        thread = self._api.save_thread()
        status, result = context.call_conv.call_function(builder, kernel, fndesc.restype, fndesc.argtypes, values)
        self._api.restore_thread(thread)
        for kind, array in self._given:
            context.nrt.decref(builder, kind, array)
        with builder.if_then(status.is_error, likely=False):
            address = builder.ptrtoint(status.excinfoptr, _WORD)
            self._api.err_set_object(self._at(self._objects, 8, _OBJECT), self._api.long_from_longlong(address))
            builder.branch(self._failed)
        builder.ret(self._box(fndesc.restype, result))
        builder.position_at_end(self._refused)
        refusal = self._at(self._objects, 0, _OBJECT)
        self._api.incref(refusal)
        builder.ret(refusal)
        builder.position_at_end(self._failed)
        builder.ret(ir.Constant(_OBJECT, None))
        library.add_ir_module(module)

    def _at(self, start: Any, offset: int, kind: Any = _WORD) -> Any:
        """Return what is so many bytes after an address."""
        place = self._builder.gep(start, [ir.Constant(_WORD, offset)])
        return self._builder.load(self._builder.bitcast(place, kind.as_pointer()))

    def _must(self, holds: Any, otherwise: Any) -> None:
        """Go on only where something holds."""
        onward = self._builder.append_basic_block()
        self._builder.cbranch(holds, onward, otherwise)
        self._builder.position_at_end(onward)

    def _must_be(self, one: Any, other: Any) -> None:
        self._must(self._builder.icmp_signed("==", one, other), self._refused)

    def _next_kind(self) -> Any:
        """Return the next of the kinds that are expected."""
        self._checked += 1
        return self._at(self._kinds, 8 * (self._checked - 1))

    def _unpack(self, kind: Any, given: Any) -> list[Callable[[], Any]]:
        """Return a builder of the values of a Python tuple."""
        self._must_be(self._at(given, _HEADER - 8), self._next_kind())
        self._must_be(self._at(given, _HEADER), ir.Constant(_WORD, len(kind.types)))
        return [
            self._value(part, self._at(given, _ITEMS + 8 * place, _OBJECT)) for place, part in enumerate(kind.types)
        ]

    def _value(self, kind: Any, given: Any) -> Callable[[], Any]:
        """Return what gives the value in a Python object."""
        if isinstance(kind, types.BaseTuple):
            parts = self._unpack(kind, given)
            return lambda: self._context.make_tuple(self._builder, kind, [part() for part in parts])
        self._must_be(self._at(given, _HEADER - 8), self._next_kind())
        if isinstance(kind, types.Array):
            self._check_array(kind, given)
        return partial(self._array if isinstance(kind, types.Array) else self._number, kind, given)

    def _number(self, kind: Any, given: Any) -> Any:
        if isinstance(kind, types.Boolean):
            return self._builder.trunc(self._api.object_istrue(given), ir.IntType(1))
        if isinstance(kind, types.Float):
            return self._context.cast(self._builder, self._api.float_as_double(given), types.float64, kind)
        if kind.signed:
            number = self._api.long_as_longlong(given)
            doubt = self._builder.icmp_signed("==", number, ir.Constant(_WORD, -1))
            with self._builder.if_then(doubt, likely=False):
                self._must(cgutils.is_null(self._builder, self._api.err_occurred()), self._failed)
        else:
            number = self._call("PyLong_AsUnsignedLongLongMask", _WORD, given)
        return self._context.cast(self._builder, number, types.int64, kind)

    def _check_array(self, kind: Any, given: Any) -> None:
        self._must_be(self._at(self._at(given, _HEADER + 40, _OBJECT), _HEADER + 8), self._next_kind())
        self._must_be(self._at(given, _HEADER + 8, _HALF), ir.Constant(_HALF, kind.ndim))
        mask, flags = {"C": (1, 1), "F": (3, 2), "A": (3, 0)}[kind.layout]
        found = self._builder.and_(self._at(given, _HEADER + 48, _HALF), ir.Constant(_HALF, 0x500 | mask))
        self._must_be(found, ir.Constant(_HALF, flags | kind.aligned << 8 | kind.mutable << 10))

    def _array(self, kind: Any, given: Any) -> Any:
        """Return an array on NumPy's memory."""
        builder = self._builder
        array = self._context.make_array(kind)(self._context, builder)
        shape, strides = (
            [self._at(self._at(given, _HEADER + part, _OBJECT), 8 * axis) for axis in range(kind.ndim)]
            for part in (16, 24)
        )
        data = self._at(given, _HEADER, _OBJECT)
        memory = self._api.nrt_meminfo_new_from_pyobject(data, given) if self._gives else None
        size = self._context.get_abi_sizeof(self._context.get_data_type(kind.dtype))
        populate_array(array, builder.bitcast(data, array.data.type), shape, strides, size, memory)
        array.parent = builder.bitcast(given, array.parent.type)
        value = array._getvalue()
        if self._gives:
            self._given.append((kind, value))
        return value

    def _box(self, kind: Any, value: Any) -> Any:
        """Return a new Python object with a value."""
        if isinstance(kind, types.NoneType):
            return self._api.make_none()
        if isinstance(kind, types.BaseTuple):
            made = self._api.tuple_new(len(kind.types))
            for place, part in enumerate(kind.types):
                item = self._box(part, self._builder.extract_value(value, place))
                self._api.tuple_setitem(made, place, item)
            return self._make_named_tuple(kind, made) if isinstance(kind, types.BaseNamedTuple) else made
        if isinstance(kind, types.Array):
            return self._box_array(kind, value)
        if isinstance(kind, types.Boolean | types.Float):
            return (self._api.bool_from_bool if kind == types.boolean else self._api.float_from_double)(value)
        wide = self._context.cast(self._builder, value, kind, types.int64 if kind.signed else types.uint64)
        return (self._api.long_from_longlong if kind.signed else self._api.long_from_ulonglong)(wide)

    def _make_named_tuple(self, kind: Any, values: Any) -> Any:
        """Return a named tuple of the values in a tuple."""
        named = self._call("PyObject_CallObject", _OBJECT, self._object(kind.instance_class), values)
        self._api.decref(values)
        return named

    def _box_array(self, kind: Any, value: Any) -> Any:
        """Return an array that owns a reference to its memory."""
        builder = self._builder
        array = self._context.make_array(kind)(self._context, builder, value=value)
        place = builder.bitcast(array._getpointer(), _OBJECT)
        rest = self._object(np.ndarray), _HALF(kind.ndim), _HALF(int(kind.mutable))
        dtype = self._object(numpy_support.as_dtype(kind.dtype))
        made = self._call("NRT_adapt_ndarray_to_python_acqref", _OBJECT, place, *rest, dtype)
        self._context.nrt.decref(builder, kind, value)
        return made

    def _object(self, wanted: object) -> Any:
        """Return the address of a Python object."""
        self.objects.append(wanted)
        return self._at(self._objects, 8 * (len(self.objects) + 1), _OBJECT)

    def _call(self, name: str, result: Any, *args: Any) -> Any:
        kind = ir.FunctionType(result, [arg.type for arg in args])
        return self._builder.call(cgutils.get_or_insert_function(self._builder.module, kind, name), args)
