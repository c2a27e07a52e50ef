"""The kind of phases: images, and a claim that is compared with what the replay finds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from tests.plans.test_files import phases_plan
from topodesign import verify
from topodesign.plans.plan_ops import relabel_plan


def test_an_image_is_as_right_and_costs_as_much() -> None:
    plan = phases_plan("all-to-all")
    image = relabel_plan(plan, np.array([3, 1, 4, 0, 5, 2]))
    assert image.topology != plan.topology
    assert verify(image).ok
    assert verify(image).figures == plan.claim


def test_a_wrong_claim_is_a_problem() -> None:
    plan = phases_plan("allgather")
    wrong = replace(plan, claim={**plan.claim, "changes": Fraction(0)})
    assert "the claimed changes is 0" in verify(wrong).problems[0]
