"""Claims: their words say what they are among and what they rest on, and none says more than it is."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from topodesign.base.claims import Among, Claim, Of, Proof


@pytest.mark.parametrize("proof", Proof)
def test_scope_and_proof_are_in_the_words(proof: Proof) -> None:
    for of, among in product(Of, Among):
        claim = Claim(of, Fraction(3, 2), among, proof, Fraction(5, 4), "a reason")
        words = str(claim)
        assert f"{of.best} among {among}" in words, (of, among)
        assert words.startswith("optimal (proven): ") == claim.proven == (proof is not Proof.NONE), (of, among)
        assert "a reason" in words, (of, among)
        assert claim.verdict.startswith("proven") == claim.proven, (of, among)
        assert claim.record()["words"] == words, (of, among)


def test_the_gap_is_that_to_the_bound() -> None:
    dear = Claim(Of.FACTOR, Fraction(3, 2), Among.TREES, Proof.NONE, Fraction(5, 4))
    slow = Claim(Of.RATE, 400, Among.TREES, Proof.NONE, 480)
    assert dear.gap == slow.gap == Fraction(1, 5)
    assert "20.00%" in str(dear)
    assert Claim(Of.RATE, 400, Among.TREES, Proof.NONE).gap is None
    assert Claim(Of.RATE, 400, Among.TREES, Proof.DUAL, 400).gap == 0
