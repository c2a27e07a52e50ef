"""What a step sends: bytes against a second count of a model's parts, and against what the papers say in words."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given

from tests.pricing.training.test_model import TINY, matrices, models
from topodesign.pricing.mix import Mix, Share
from topodesign.pricing.training.model import Model, as_model
from topodesign.pricing.training.traffic import layers_step, mix_step, step_mix


def volumes(model: Model) -> Counter[str]:
    """Bytes that all collectives of a use and kind have in a step, of one rank of each stage, added up over stages."""
    found: Counter[str] = Counter()
    step = step_mix(model)
    for stage in step.stages:
        for passes, times in (
            (stage.first_forward, 1), (stage.forward, step.micro_batches - 1),
            (stage.backward, step.micro_batches - 1), (stage.last_backward, 1),
        ):  # fmt: skip
            for block in passes:
                for sent, many in (*block.gathers, *block.waits, *block.reduces):
                    found[f"{sent.use} {sent.collective} {sent.axes}"] += many * times * sent.size  # type: ignore[assignment]
    return found


@given(models())
def test_gradients_are_those_of_all_parameters(model: Model) -> None:
    """Of one rank of each stage, times tensor ranks: all parameters, those that are not parted counted once."""
    found = volumes(model)
    name = "allreduce" if model.sharding == "none" else "reduce-scatter"
    dense = found[f"data {name} (1, 2)"] / model.gradient_bytes
    experts = found[f"data {name} (2,)"] / model.gradient_bytes
    h, both = model.hidden, model.biases + 1
    # What every tensor rank has whole: norms, biases that are added after summing, positions, the router.
    alike = (2 * model.layers + 1) * h * both + model.layers * h * model.experts
    alike += h * model.sequence if model.positions == "learned" else 0
    alike += model.layers * h * (1 if model.experts else 2) if model.biases else 0
    copies = model.hidden * model.vocabulary if model.tied and model.pipeline > 1 else 0
    own = model.layers * model.experts * h * model.biases
    inner = sum(a * b for a, b in (s for s in matrices(model) if len(s) == 2)) + copies
    assert inner  # the second count is of the same list as the parameters
    total = model.parameters + copies
    in_experts = model.layers * model.experts_of_layer
    assert (dense - alike) * model.tensor + alike == total - in_experts
    if model.shape[2] > 1:
        assert (experts * model.expert - own) * model.tensor + own == in_experts
    gathered = found["data allgather (1, 2)"] / model.parameter_bytes
    assert gathered == (dense if model.sharding == "optimizer" else 0)


def test_tensor_parallelism_sends_what_megatron_says() -> None:
    """Four allreduces of b s h a layer and micro batch (Shoeybi et al. 2019, figure 4), here of 128 x 64 x 2 bytes."""
    plain = volumes(as_model(TINY, {"tensor": 2, "sequence_parallel": "no", "batch": 4}))
    layers = 4 * 2 * 4 * 128 * 64 * 2
    ends = 4 * 4 * 128 * 64 * 2
    loss = 4 * 3 * 128 * 4
    assert plain["tensor allreduce (0,)"] == layers + ends + loss
    parted = volumes(as_model(TINY, {"tensor": 2, "batch": 4}))
    assert parted["tensor reduce-scatter (0,)"] == layers + ends
    assert parted["tensor allgather (0,)"] == layers
    again = volumes(as_model(TINY, {"tensor": 2, "batch": 4, "recompute": "full"}))
    assert again["tensor allgather (0,)"] == layers * 3 / 2


def test_experts_get_their_tokens_and_give_them_back() -> None:
    """Four all-to-alls a layer and micro batch, of the tokens of a rank times top-k."""
    model = as_model(TINY, {"experts": 4, "top_k": 2, "expert": 2, "data": 2, "tensor": 2, "batch": 4})
    found = volumes(model)
    assert found["expert all-to-all (1,)"] == 2 * 2 * 4 * 2 * (128 // 2) * 64 * 2
    assert found["tensor allgather (0,)"] == 2 * 2 * 2 * (1 + 2) * 128 * 64 * 2


def test_full_sharding_sends_half_as_much_again() -> None:
    """3 Psi in place of 2 Psi (Rajbhandari et al. 2020, section 7.3), of one micro batch."""
    whole = volumes(as_model(TINY, {"data": 8, "sharding": "full"}))
    some = volumes(as_model(TINY, {"data": 8, "sharding": "optimizer"}))
    assert sum(whole.values()) * 2 == sum(some.values()) * 3


def test_the_pipeline_sends_activations() -> None:
    step = step_mix(as_model(TINY, {"pipeline": 2, "tensor": 2, "data": 2}))
    assert step.sends is not None
    assert step.sends.size == Fraction(128 * 64 * 2, 2)
    assert step.counts[step.sends] == 2 * 4
    ((ends, once),) = step.last
    assert (ends.size, once) == (Fraction(1000 * 64 * 2, 2), 1)
    assert not step_mix(as_model(TINY, {"pipeline": 2, "tied": "no"})).last


@pytest.mark.parametrize("recompute", ["none", "full"])
def test_computing_is_three_or_four_times_a_forward_pass(recompute: str) -> None:
    model = as_model(TINY, {"recompute": recompute, "pipeline": 2, "efficiency": "100%"})
    step = step_mix(model)
    seconds = sum(block.compute for stage in step.stages for block in (*stage.forward, *stage.backward))
    times = 3 if recompute == "none" else 4
    assert seconds == Fraction(times * 2 * model.layer_operations + 3 * model.head_operations, 10**12)


def test_lists_have_no_computation() -> None:
    step = mix_step(Mix("two", (Share("allreduce", Fraction(8), 3), Share("all-to-all", Fraction(4)))))
    assert [(sent.collective, sent.size, many) for sent, many in step.counts.items()] == [
        ("allreduce", Fraction(8), 3),
        ("all-to-all", Fraction(4), 1),
    ]
    layers = layers_step("x", [(Fraction(2), Fraction(5)), (Fraction(1), Fraction(3))])
    assert [block.compute for block in layers.stages[0].backward] == [3, 2]
