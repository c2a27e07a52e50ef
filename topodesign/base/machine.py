"""Machine code of kernels, kept on disk and loaded without the compiler.

A file holds the object code of one kernel for one form of arguments. Its name says what it was made of: the kernel and
all that it calls, the versions of Python, NumPy and the compiler, the processor, and the form. So nothing but what was
made of the same is ever found, by any process, and files of other versions are left alone.

A wheel can bring files that were made for all processors with AVX2, or all of another architecture. Their names leave
out what such code does not depend on: every version of the compiler finds them whose functions in C are the same.

The one function in it, ``enter``, takes the tuple of arguments. It refuses those of another form, reads the others
where Python and NumPy hold them, lets other threads run meanwhile, and gives the result as Python's own.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import itertools
import os
import pickle
import platform
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

_SUM = 32  # bytes of a file that are the digest of the others
_LOWERING = Path(__file__).with_name("lowering.py")
_SHIPPED = Path(__file__).parents[1] / "_data" / "machine_code"
_NEEDED = "avx avx2 bmi bmi2 cmov cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3 xsave"
"""Features of the processor x86-64-v3."""
_SOURCES = ("_arraystruct.h", "core/runtime/nrt.cpp", "core/runtime/nrt.h", "core/runtime/_nrt_python.c")
_ENTER = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)
_linking = threading.RLock()
_numbers = itertools.count()


class Entrance:
    """A kernel as machine code, loaded or compiled per argument types.

    That happens on the first call with these types.

    Parameters
    ----------
    source
        The function as it was written.
    made_of
        Text that differs wherever the kernel, or one that it calls, does.
    linked
        Returns the function that is compiled.
    """

    def __init__(self, source: FunctionType, made_of: str, linked: Callable[[], FunctionType]) -> None:
        self._made_of, self._linked = made_of, linked
        self._folders = tuple(_folders(Path(source.__code__.co_filename)))
        self._name = f"{source.__module__}.{source.__qualname__}"
        self._forms: list[tuple[Any, int, int, object]] = []
        self.compiled = False
        """Whether this process compiled it, for some form."""
        self.folder: str | None = None
        """Where it is kept, once it is loaded."""

    def __call__(self, *args: object) -> object:
        """Run it."""
        for enter, kinds, objects, _ in self._forms:
            try:
                result = enter(args, kinds, objects)
            except RuntimeError as error:
                raise _get_exception(error) from None
            if result is not NotImplemented:
                return result
        with _linking:
            self._add(args)
        return self(*args)

    @property
    def is_kept(self) -> bool:
        """Return whether a file with its machine code exists, for any types."""
        return any(file.name.startswith(start) for folder, start, _ in self._places() for file in _list_folder(folder))

    @functools.cached_property
    def _own(self) -> str:
        """How the names of files begin that are made here."""
        return self._shipped if _makes_portable() else f"{self._name}-{_digest(self._made_of, _versions())}"

    @functools.cached_property
    def _shipped(self) -> str:
        """How the names of files begin that a wheel brings."""
        return f"{self._name}-{_digest(self._made_of, _interfaces())}"

    def _places(self) -> Iterator[tuple[Path, str, Callable[[], tuple[str, str]]]]:
        """Yield folders, name prefixes and processors of its files."""
        yield from ((folder, self._own, _processor) for folder in self._folders)
        if _runs_shipped():
            yield _SHIPPED, self._shipped, portable

    def _add(self, args: tuple[object, ...]) -> None:
        """Load it for the types of these arguments, or compile it."""
        kinds: list[object] = []
        form = _form(args, kinds)
        for folder, start, processor in self._places():
            path = folder / f"{start}-{_digest(form, *processor())}.code"
            with contextlib.suppress(Exception):  # a damaged file makes unpickling and linking raise almost anything
                content = path.read_bytes()
                if hashlib.sha256(content[_SUM:]).digest() == content[:_SUM]:
                    self._enter(kinds, *pickle.loads(content[_SUM:]))  # noqa: S301  as trusted as the code in it
                    self.folder = str(folder)
                    return
        from topodesign.base.lowering import object_code  # noqa: PLC0415  numba is heavy
        from topodesign.base.memory import pause_collector  # noqa: PLC0415  seldom needed

        self.compiled = True
        with pause_collector():
            made = object_code(self._linked(), args)
        self._enter(kinds, *made)
        content = pickle.dumps(made)
        name = f"{self._own}-{_digest(form, *_processor())}.code"
        self.folder = self._keep(name, hashlib.sha256(content).digest() + content)

    def _keep(self, name: str, content: bytes) -> str | None:
        """Write a file into the first folder that can be written."""
        from topodesign.base.atomic import write_whole  # noqa: PLC0415  seldom needed
        from topodesign.base.errors import FileFormatError  # noqa: PLC0415

        for folder in self._folders:
            with contextlib.suppress(OSError, FileFormatError):
                folder.mkdir(parents=True, exist_ok=True)
                write_whole(folder / name, content)
                return str(folder)
        return None

    def _enter(self, kinds: list[object], objects: tuple[object, ...], code: bytes) -> None:
        """Make object code callable, for arguments of these kinds."""
        import llvmlite.binding as llvm  # noqa: PLC0415  heavy

        library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol("enter")
        for name, address in _helpers().items():
            if name.encode() in code:
                library.import_symbol(name, address)
        tracker = library.link(_engine(), f"{self._name}-{next(_numbers)}")
        tables = [
            (ctypes.c_int64 * len(some))(*(one if type(one) is int else id(one) for one in some))
            for some in (kinds, (NotImplemented, RuntimeError, *objects))
        ]
        checked, used = map(ctypes.addressof, tables)
        self._forms.append((_ENTER(tracker["enter"]), checked, used, (tracker, tables, kinds, objects)))


def _form(value: object, kinds: list[object]) -> str:
    """Return the types of arguments, and list the checks of values."""
    kinds.append(type(value))
    if type(value) is np.ndarray:
        order_and_number = id(value.dtype) + object.__basicsize__ + 8
        kinds.append(ctypes.c_int64.from_address(order_and_number).value)
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return f"{value.dtype.str}{value.ndim}{layout}{flags.writeable:d}{flags.aligned:d}"
    if isinstance(value, tuple):
        parts = ",".join([_form(part, kinds) for part in value])
        return f"{type(value).__qualname__}{getattr(value, '_fields', '')}[{parts}]"
    if isinstance(value, np.generic):
        return value.dtype.name
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise OverflowError(f"{value} does not fit into 64 bits")
    if isinstance(value, bool | int | float):
        return "bool" if isinstance(value, bool) else f"{type(value).__name__}64"
    raise TypeError(f"a kernel takes numbers, arrays and tuples of them, not {value!r}")


def _get_exception(error: RuntimeError) -> BaseException:
    """Return the exception whose description is at an address."""
    start, size = ctypes.c_void_p.from_address(error.args[0]).value, ctypes.c_int32.from_address(error.args[0] + 8)
    kind, args, *_ = pickle.loads(ctypes.string_at(start or 0, size.value))  # noqa: S301  part of the code
    return kind(*args or ())  # type: ignore[no-any-return]


def _folders(source: Path) -> Iterator[Path]:
    """Yield folders that machine code of a module is read from and kept in."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(chosen) / "topodesign"
        return
    yield source.parent / "__pycache__"
    with contextlib.suppress(RuntimeError):  # there is no home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "topodesign"


def _list_folder(folder: Path) -> list[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(folder) as files:
        return list(files)
    return []


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:20]


@functools.cache
def _versions() -> str:
    """Return a digest of the tools of compilation, without importing them."""
    made_with = [file for package in ("numba", "llvmlite") for file in _read_installed(package, "_version.py")]
    return _digest(sys.version, sys.platform, np.__version__, *made_with, _LOWERING.read_bytes())


@functools.cache
def _interfaces() -> str:
    """Return a digest of the interfaces of machine code.

    Python's and NumPy's objects, numba's functions in C.

    Numba comes with the sources of these: where they are the same it may be of any version.
    """
    numpy, *_ = np.__version__.split(".")
    helpers = _read_installed("numba", *_SOURCES) or _versions()
    return _digest(EXTENSION_SUFFIXES[0], numpy, *helpers, _LOWERING.read_bytes())


def _read_installed(package: str, *names: str) -> list[bytes]:
    """Return files of a package without importing it; none if it is missing."""
    spec = find_spec(package)
    files = [Path(spec.origin).parent / name for name in names] if spec and spec.origin else []
    return [file.read_bytes() for file in files] if all(map(Path.is_file, files)) else []


def portable() -> tuple[str, str]:
    """Return the processor and features that wheels are compiled for."""
    return ("x86-64-v3" if platform.machine() in {"x86_64", "AMD64"} else "generic"), ""


def _makes_portable() -> bool:
    """Whether numba is set to compile for that."""
    return (os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")) == portable()


@functools.cache
def _runs_shipped() -> bool:
    """Return whether the installation has files that this processor runs."""
    if not _SHIPPED.is_dir() or portable()[0] == "generic":
        return _SHIPPED.is_dir()
    import llvmlite.binding as llvm  # noqa: PLC0415  heavy

    return all(map(llvm.get_host_cpu_features().get, _NEEDED.split()))


@functools.cache
def _processor() -> tuple[str, str]:
    """Return what numba compiles for."""
    if _makes_portable():
        return portable()
    import llvmlite.binding as llvm  # noqa: PLC0415  heavy

    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@functools.cache
def _engine() -> Any:
    import llvmlite.binding as llvm  # noqa: PLC0415  heavy

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.create_lljit_compiler(llvm.Target.from_default_triple().create_target_machine(jit=True))


@functools.cache
def _helpers() -> dict[str, int]:
    """Return numba's helper functions in C by name."""
    spec = find_spec("numba")
    if spec is None or spec.origin is None:
        return {}
    found: dict[str, int] = {}
    for name, prefix in (("core.runtime._nrt_python", "NRT_"), ("_helperlib", "numba_")):
        base = Path(spec.origin).parent.joinpath(*name.split("."))
        (file,) = filter(Path.is_file, (Path(f"{base}{suffix}") for suffix in EXTENSION_SUFFIXES))
        extension = spec_from_file_location(f"numba.{name}", file)
        if extension is not None:
            helpers = module_from_spec(extension).c_helpers
            found |= {f"{prefix}{function}": address for function, address in helpers.items()}
    return found
