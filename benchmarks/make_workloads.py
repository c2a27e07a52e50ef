"""Write configs/workload_*.csv: gradient sizes from the architectures, ready times from a stated model of computation.

Every layer is (name, parameters, multiply-adds of a forward pass over the batch). A forward pass takes 2 operations for
each multiply-add, a backward pass twice as many; the processor sustains RATE operations per second. The step starts
with the forward pass; gradients of a layer are ready when the backward pass has gone through it, last layer first.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

RATE = 60 * 10**12
BYTES = 4


class Part(NamedTuple):
    """A layer, or a few whose gradients are reduced together."""

    name: str
    parameters: int
    multiply_adds: int


class Model(NamedTuple):
    """Parts in order of the forward pass; ``late`` are those whose gradients are complete only at the very end."""

    about: str
    parts: list[Part]
    late: list[Part]


def convolution(name: str, side: int, inputs: int, outputs: int, *, kernel: int, batch: int, norm: bool) -> Part:
    """Convolution to ``outputs`` channels of side x side, with a bias, or else a batch norm (scale and shift)."""
    weights = kernel * kernel * inputs * outputs
    return Part(name, weights + outputs * (2 if norm else 1), weights * side * side * batch)


def linear(name: str, inputs: int, outputs: int, rows: int) -> Part:
    return Part(name, (inputs + 1) * outputs, inputs * outputs * rows)


def resnet50(batch: int = 64) -> Model:
    parts = [convolution("conv1", 112, 3, 64, kernel=7, batch=batch, norm=True)]
    inputs = 64
    for stage, (blocks, width, side) in enumerate(((3, 64, 56), (4, 128, 28), (6, 256, 14), (3, 512, 7)), 1):
        for block in range(blocks):
            name = f"layer{stage}.{block}"
            before = 2 * side if block == 0 and stage > 1 else side  # the 3x3 convolution has the stride
            parts.append(convolution(f"{name}.conv1", before, inputs, width, kernel=1, batch=batch, norm=True))
            parts.append(convolution(f"{name}.conv2", side, width, width, kernel=3, batch=batch, norm=True))
            parts.append(convolution(f"{name}.conv3", side, width, 4 * width, kernel=1, batch=batch, norm=True))
            if block == 0:
                parts.append(
                    convolution(f"{name}.downsample", side, inputs, 4 * width, kernel=1, batch=batch, norm=True)
                )
            inputs = 4 * width
    parts.append(linear("fc", 2048, 1000, batch))
    return Model(f"ResNet-50, images of 224x224, batch {batch}", parts, [])


def vgg16(batch: int = 64) -> Model:
    parts, inputs, side = [], 3, 224
    for stage, (count, width) in enumerate(((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)), 1):
        for number in range(1, count + 1):
            parts.append(convolution(f"conv{stage}_{number}", side, inputs, width, kernel=3, batch=batch, norm=False))
            inputs = width
        side //= 2
    for name, wide, narrow in (("fc6", 512 * 7 * 7, 4096), ("fc7", 4096, 4096), ("fc8", 4096, 1000)):
        parts.append(linear(name, wide, narrow, batch))
    return Model(f"VGG-16, images of 224x224, batch {batch}", parts, [])


def gpt2(batch: int = 8, context: int = 1024, width: int = 768, blocks: int = 12, words: int = 50257) -> Model:
    tokens, parts = batch * context, []
    for block in range(blocks):
        joint, out = linear("", width, 3 * width, tokens), linear("", width, width, tokens)
        mixing = 2 * context * width * tokens  # scores, then weighted values
        attention = joint.multiply_adds + out.multiply_adds + mixing
        up, down = linear("", width, 4 * width, tokens), linear("", 4 * width, width, tokens)
        norm = 2 * width
        parts.append(Part(f"block{block}.attention", norm + joint.parameters + out.parameters, attention))
        parts.append(
            Part(f"block{block}.mlp", norm + up.parameters + down.parameters, up.multiply_adds + down.multiply_adds)
        )
    parts.append(
        Part("final_norm", 2 * width, words * width * tokens)
    )  # with the head, whose weights are the embedding
    late = [Part("positions", context * width, 0), Part("embedding", words * width, 0)]
    return Model(f"GPT-2 (small), batch {batch} x {context} tokens, head tied to the embedding", parts, late)


def table(model: Model) -> str:
    forward = sum(part.multiply_adds for part in model.parts)
    parameters = sum(part.parameters for part in (*model.parts, *model.late))
    lines = [
        f"# {model.about}: {parameters} parameters, gradients of {BYTES} bytes, {forward} multiply-adds forward.",
        "# Parameters follow from the architecture. Ready times are a model, not a measurement: of a processor with",
        f"# {RATE // 10**12} TFLOP/s sustained. A forward pass takes 2 operations for each multiply-add, a backward",
        "# pass 4; gradients of a layer are ready when the backward pass has gone through it.",
        "# Written by benchmarks/make_workloads.py.",
        "layer,size,ready",
    ]
    done = Fraction(2 * forward)
    for part in (*reversed(model.parts), *model.late):
        done += 4 * part.multiply_adds
        lines.append(f"{part.name},{part.parameters * BYTES}B,{round(done / RATE * 10**9)}ns")
    return "\n".join(lines) + "\n"


MODELS = {"resnet50": resnet50, "vgg16": vgg16, "gpt2": gpt2}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=Path(__file__).parent.parent / "configs")
    args = parser.parse_args()
    args.to.mkdir(exist_ok=True)
    for name, make in MODELS.items():
        path = args.to / f"workload_{name}.csv"
        path.write_text(table(make()), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
