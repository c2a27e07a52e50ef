"""Families: the arguments of a call become the spec of its result, and errors name the call to write."""

from __future__ import annotations

import numpy as np
import pytest

from topodesign.base.errors import ParameterError
from topodesign.base.spec import Spec
from topodesign.topology.family import call_signature, named, never
from topodesign.topology.topology import Topology


@named()
def ringof(n: int, *jumps: int) -> Topology:
    """Node v to v plus each jump."""
    return Topology.from_links(n, [(v, (v + jump) % n) for v in range(n) for jump in jumps])


def test_the_result_carries_the_call() -> None:
    assert (ringof.name, ringof.signature, ringof.__doc__) == (
        "ringof",
        "ringof(n,jumps,...)",
        "Node v to v plus each jump.",
    )
    assert call_signature(ringof.function) == ringof.signature
    assert ringof(5, 1, 2).spec == Spec("ringof", (5, 1, 2))
    assert str(ringof(np.int64(5), np.int32(1)).spec) == "ringof(5,1)"  # type: ignore[arg-type]
    assert list(ringof.find(5, 1)) == list(never(5, 1)) == []


@pytest.mark.parametrize("args", [(), (5.0, 1), (True, 1), ("5", 1), (Spec("cyclic", (5,)), 1)])
def test_wrong_arguments_are_told_by_the_call_to_write(args: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match=r"ringof\(n,jumps,\.\.\.\)"):
        ringof(*args)
