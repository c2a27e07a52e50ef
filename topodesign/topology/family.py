"""The decorator that gives a generator its spec.

The call's arguments become the text that rebuilds the result.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from topodesign.base.errors import ParameterError
from topodesign.base.spec import Spec
from topodesign.topology.topology import Topology

Size: TypeAlias = tuple[str, str, str]
"""Nodes and ports as formulas of the arguments, where a list has that of its name, or in words, and a small example."""
Find = Callable[[int, int], Iterable[tuple[Any, ...]]]


def never(_nodes: int, _degree: int) -> Iterable[tuple[int, ...]]:
    """Return nothing, for a generator that the finder reaches otherwise."""
    return ()


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def call_signature(function: Callable[..., Any]) -> str:
    """Return a call as in a spec, for messages: ``genkautz(d,n)``."""
    parameters = _signature(function).parameters.values()
    words = [f"{p.name},..." if p.kind is p.VAR_POSITIONAL else p.name for p in parameters]
    return f"{function.__name__}({','.join(words)})"


def takes_spec(function: Callable[..., Any]) -> bool:
    """Return whether some argument is the spec of a group."""
    return any(parameter.annotation == "Spec" for parameter in _signature(function).parameters.values())


def inspect_call(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Raise ParameterError unless the function takes that many positional arguments."""
    try:
        _signature(function).bind(*args)
    except TypeError:
        raise ParameterError(f"wrong number of arguments; write {call_signature(function)}") from None


@dataclass(eq=False)
class Family:
    """A generator that writes its own spec.

    Call it like the function it wraps.
    """

    function: Callable[..., Topology]  # the plain function: integers (or group specs) -> Topology
    # find(nodes, degree) yields the argument tuples worth considering that give exactly that size
    find: Find = field(repr=False)
    size: Size = ("", "", "")  # what is shown of its size

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.function)

    @property
    def name(self) -> str:
        """The name in a spec."""
        return self.function.__name__

    @property
    def signature(self) -> str:
        """The call as a user would write it in a spec."""
        return call_signature(self.function)

    @property
    def takes_spec(self) -> bool:
        """Whether some argument is the spec of a group."""
        return takes_spec(self.function)

    def __call__(self, *args: int | Spec) -> Topology:
        """Build the topology and give it its spec."""
        inspect_call(self.function, args)
        plain = tuple(arg if self.takes_spec and isinstance(arg, Spec) else self._integer(arg) for arg in args)
        return replace(self.function(*plain), spec=Spec(self.name, plain))

    def _integer(self, argument: object) -> int:
        if isinstance(argument, bool) or not hasattr(argument, "__index__"):
            raise ParameterError(f"{self.signature} requires integers, not {argument}")
        return int(argument.__index__())


def make_family(find: Find = never, *, size: Size = ("", "", "")) -> Callable[[Callable[..., Topology]], Family]:
    """Make a function of integers a :class:`Family` with specs.

    * ``find``: ``find(nodes, degree)`` yields argument tuples that give exactly that many nodes and that degree. The
      finder calls it for every size it needs, so it must be quick and yield only what is worth pricing.
    * ``size``: what ``topodesign info families`` shows.
    """

    def wrap(function: Callable[..., Topology]) -> Family:
        return Family(function, find, size)

    return wrap
