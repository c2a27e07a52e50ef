"""Models: parameters as published and as built layer by layer, operations by the published formula, clear errors."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.shipped import copy_examples
from topodesign.pricing.training.model import Model, as_model

TINY: dict[str, Any] = {
    "layers": 2, "hidden": 64, "heads": 4, "vocabulary": 1000, "sequence": 128, "batch": 8, "flops": "1T",
}  # fmt: skip
LLAMA = {"gated": True, "biases": False, "positions": "none", "tied": False, "hidden": 4096, "heads": 32, "layers": 32}


@pytest.mark.parametrize(
    ("fields", "parameters"),
    [
        ({"layers": 12, "hidden": 768, "heads": 12, "vocabulary": 50257, "sequence": 1024}, 124_439_808),  # GPT-2
        ({**LLAMA, "ffn": 11008, "vocabulary": 32000}, 6_738_415_616),  # Llama 2 7B
        ({**LLAMA, "ffn": 14336, "kv_heads": 8, "vocabulary": 128256}, 8_030_261_248),  # Llama 3 8B
        ({**LLAMA, "ffn": 14336, "kv_heads": 8, "vocabulary": 32000, "experts": 8, "top_k": 2}, 46_702_792_704),
    ],
)
def test_parameters_are_as_published(fields: dict[str, Any], parameters: int) -> None:
    assert as_model({**TINY, **fields}).parameters == parameters


def test_a_token_of_mixtral_meets_12_9_billion(tmp_path: Path) -> None:
    [path] = copy_examples(["model_mixtral.yaml"], tmp_path)
    assert round(as_model(path).active_parameters / 10**9, 1) == 12.9


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Some model with degrees that fit it."""
    kv = draw(st.sampled_from([0, 2, 4]))
    tensor, expert = draw(st.sampled_from([1, 2])), draw(st.sampled_from([1, 2]))
    experts = draw(st.sampled_from([0, 4])) if expert == 1 else 4
    return as_model({
        **TINY, "kv_heads": kv, "tensor": tensor, "expert": expert, "experts": experts, "data": 4,
        "layers": draw(st.sampled_from([2, 4])), "pipeline": draw(st.sampled_from([1, 2])), "batch": 16,
        "top_k": draw(st.sampled_from([1, 2])), "gated": draw(st.booleans()), "biases": draw(st.booleans()),
        "tied": draw(st.booleans()), "positions": draw(st.sampled_from(["none", "learned"])),
        "expert_ffn": draw(st.sampled_from([0, 96])), "recompute": draw(st.sampled_from(["none", "full"])),
        "sharding": draw(st.sampled_from(["none", "optimizer"])),
    })  # fmt: skip


def matrices(model: Model) -> list[tuple[int, ...]]:
    """The shapes of all parameters, layer by layer."""
    h, head = model.hidden, model.hidden // model.heads
    keys = head * (model.kv_heads or model.heads)
    norm = [(h,)] * (2 if model.biases else 1)

    def linear(inputs: int, outputs: int) -> list[tuple[int, ...]]:
        return [(outputs, inputs), *([(outputs,)] if model.biases else [])]

    def feed(width: int) -> list[tuple[int, ...]]:
        return linear(h, width) * (2 if model.gated else 1) + linear(width, h)

    layer = [*norm, *norm, *linear(h, h), *linear(h, keys), *linear(h, keys), *linear(h, h)]
    if model.experts:
        layer += [(model.experts, h), *feed(model.expert_ffn or model.ffn or 4 * h) * model.experts]
    else:
        layer += feed(model.ffn or 4 * h)
    whole = [(model.vocabulary, h), *([(model.sequence, h)] if model.positions == "learned" else [])]
    return [*whole, *layer * model.layers, *norm, *([] if model.tied else [(model.vocabulary, h)])]


@given(models())
def test_parameters_are_those_of_all_matrices(model: Model) -> None:
    assert model.parameters == sum(map(math.prod, matrices(model)))


def test_operations_are_those_of_the_published_formula(tmp_path: Path) -> None:
    """96 B s l h^2 (1 + s/6h + V/16lh), with activations worked out again (Narayanan et al. 2021, equation 3)."""
    [path] = copy_examples(["model_gpt3.yaml"], tmp_path)
    model = as_model(path)
    s, h, many, v = model.sequence, model.hidden, model.layers, model.vocabulary
    formula = 96 * s * many * h**2 * (1 + Fraction(s, 6 * h) + Fraction(v, 16 * many * h))
    assert 4 * many * model.layer_operations + 3 * model.head_operations == formula


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"layer": 3}, "unknown field 'layer'; did you mean"),
        ({"heads": 5}, "hidden 64 is not divided by heads 5"),
        ({"layers": 0}, "layers is a whole number from 1 on"),
        ({"layers": "2.5"}, "layers is a whole number"),
        ({"batch": "many"}, "batch is a number such as 96"),
        ({"flops": "-3"}, "flops is a number"),
        ({"flops": 0}, "flops must be above zero"),
        ({"efficiency": "101%"}, "at most 100%"),
        ({"tensor": 3}, "heads 4 is not divided by tensor 3"),
        ({"pipeline": 3}, "layers 2 is not divided by pipeline 3"),
        ({"data": 3}, "batch 8 is not divided by data times micro_batch 3"),
        ({"expert": 2, "data": 2}, "expert parallelism requires experts"),
        ({"experts": 2, "top_k": 3}, "a token cannot go to 3 of 2"),
        ({"experts": 2, "tensor": 2, "sequence_parallel": False}, "sequence_parallel"),
        ({"sharding": "full", "pipeline": 2}, "no pipeline"),
        ({"sharding": "zero"}, "sharding is none or optimizer or full"),
        ({"gated": 2}, "gated is true or false"),
        ({"name": ""}, "name: expected text"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        as_model(TINY, changes)


def test_files_say_the_line(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    path.write_text("name: x\nlayers: 2\nhidden: sixty\n")
    with pytest.raises(FileFormatError, match=r"model.yaml: line 3: hidden is a number"):
        as_model(path)
    path.write_text("name: x\nlayers: 2\n")
    with pytest.raises(FileFormatError, match=r"model.yaml: the field 'hidden' is missing"):
        as_model(path)
    path.write_text("- 3\n")
    with pytest.raises(FileFormatError, match="expected fields"):
        as_model(path)
    with pytest.raises(ParameterError, match="the field 'hidden' is missing"):
        as_model({"layers": 3})
    assert as_model(as_model(TINY), {"batch": 16}).micro_batches == 16
