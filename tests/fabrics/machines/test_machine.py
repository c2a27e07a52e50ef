"""What is made of a machine: rates that are filled in, cards on rails, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.fabrics.machines.machine import Machine, Rates, fabric_of
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.optimum import optimum

PAIR = Machine(("gpu0", "gpu1"), "NVLink", {("gpu0", "gpu1"): (4, None)})
XGMI = Machine(("gpu0", "gpu1"), "Infinity Fabric", {("gpu0", "gpu1"): (1, None)})
TREE = Machine(
    ("gpu0", "gpu1"),
    "NVLink",
    above={"gpu0": ("pcie0", None), "nic0": ("pcie0", None), "pcie0": ("cpu0", None), "gpu1": ("cpu1", None)},
    nics={"nic0": None},
)


def test_a_machine_like_a_preset_is_that_preset() -> None:
    gpus = tuple(f"gpu{one}" for one in range(8))
    machine = Machine(
        gpus,
        "NVLink",
        switched={gpu: (18, Fraction(25)) for gpu in gpus},
        reducing=True,
        nics={f"nic{one}": Fraction(50) for one in range(8)},
    )
    made, assumed = fabric_of(machine, "like", 3, Rates(), None)
    preset = build_fabric("dgx_h100(3)")
    assert not assumed
    assert {(one.src, one.dst, one.bandwidth) for one in made.links()} == {
        (one.src, one.dst, one.bandwidth) for one in preset.links()
    }
    assert (made.multicast, made.names) == (preset.multicast, preset.names)


@given(
    st.integers(1, 6),
    st.fractions(1, 100, max_denominator=8),
    st.none() | st.fractions(1, 100, max_denominator=8),
)
def test_what_is_given_counts_before_what_is_said_and_what_is_assumed(
    count: int, given_rate: Fraction, said: Fraction | None
) -> None:
    machine = Machine(("gpu0", "gpu1"), "NVLink", {("gpu0", "gpu1"): (count, said)})
    made, assumed = fabric_of(machine, "pair", 1, Rates(link=given_rate), None)
    assert optimum(made).bandwidth == 2 * count * given_rate * 10**9
    assert not assumed
    made, assumed = fabric_of(machine, "pair", 1, Rates(), None)
    assert optimum(made).bandwidth == 2 * count * (said or 25) * 10**9
    assert bool(assumed) == (said is None)


def test_pcie_is_there_where_other_links_do_not_join_all() -> None:
    made, _ = fabric_of(PAIR, "pair", 1, Rates(), None)
    assert len(made.names) == len(made.compute)
    made, assumed = fabric_of(TREE, "tree", 1, Rates(), None)
    assert sorted(set(made.names) - {"box0/gpu0", "box0/gpu1"}) == ["box0/cpu0", "box0/cpu1", "box0/pcie0"]
    assert len(assumed) == 2


@pytest.mark.parametrize(
    ("machine", "boxes", "rates", "pcie", "message"),
    [
        (PAIR, 2, Rates(), None, "no network card"),
        (PAIR, 1, Rates(), True, "what the accelerators hang on is not specified"),
        (PAIR, 0, Rates(), None, "boxes must be at least 1"),
        (TREE, 2, Rates(), None, "the rate of nic0 is not specified; give it as --nic"),
        (
            Machine(("gpu0", "gpu1"), "Infinity Fabric", {("gpu0", "gpu1"): (1, None)}),
            1,
            Rates(),
            None,
            "such as 64GB/s",
        ),
    ],
)
def test_what_cannot_be_a_fabric(machine: Machine, boxes: int, rates: Rates, pcie: bool | None, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        fabric_of(machine, "x", boxes, rates, pcie)


def test_a_machine_without_accelerators() -> None:
    with pytest.raises(FileFormatError, match="no accelerator"):
        Machine((), "NVLink")
