"""Words in messages: articles, lists, counts, and what was meant is found among what is known."""

from __future__ import annotations

import io
import re
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import topodesign
from topodesign.base.claims import Claim, Of, Proof, Scope
from topodesign.base.fitted import columns_of, fit_lines
from topodesign.base.spec import parse
from topodesign.base.wording import count_noun, join_words, nearest, suggest, with_article
from topodesign.collectives import COLLECTIVES

WORDS = st.lists(st.text("abcdefgh-_0123", min_size=3, max_size=12), min_size=1, max_size=40, unique=True)


@given(WORDS, st.data())
def test_a_word_with_one_letter_less_is_understood(known: list[str], data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(known))
    place = data.draw(st.integers(0, len(word) - 1))
    assert nearest(word, known)[0] == word
    assert nearest(word.upper(), known)[0].lower() == word
    near = nearest(word[:place] + word[place + 1 :], known, most=len(known))
    assert word in near
    assert set(near) <= set(known)


@given(st.one_of(st.none(), st.integers(), st.text(max_size=300)), WORDS)
def test_whatever_is_typed_is_answered_in_one_short_line(word: object, known: list[str]) -> None:
    said = suggest(word, known)
    assert "\n" not in said
    assert said.startswith(("did you mean '", "known are "))
    assert any(one in said for one in known)
    assert suggest(word, known, "x") in {said, "x"}


def test_lists_are_short() -> None:
    assert join_words(list("abcd")) == "a, b, c and d"
    assert join_words(list("abcdef")) == "a, b, c and 3 more"
    assert count_noun(1, "switch", "switches") == "1 switch"
    assert suggest("zz", [f"n{number}" for number in range(1000)]).endswith(" and 968 more")


def test_collectives_have_their_article() -> None:
    for name in COLLECTIVES:
        assert with_article(name) == (f"an {name}" if name[0] == "a" else f"a {name}")


def test_no_message_gives_a_collective_an_article_of_its_own() -> None:
    root = Path(topodesign.__file__).parent
    written = re.compile(r"\ban? \{[^{}]*collective|\ban? \{(self\.name|asked)\}")
    found = [path.name for path in root.rglob("*.py") if written.search(path.read_text())]
    assert found == []


def test_names_with_numbers_are_near_by_their_value() -> None:
    """C01 is C001 with a zero less; by its letters it is as near to C101."""
    assert nearest("C01", ["C101", "C001", "C011"]) == ["C001"]
    assert nearest("C0001", ["C001", "C002", "C011"]) == ["C001"]
    assert nearest("C0", ["C001", "C002"]) == ["C001", "C002"]
    assert nearest("evalaute", ["evaluate", "validate"], 1) == ["evaluate"]
    assert nearest("h1:eth0", ["h10:eth0", "h01:eth0"])[0] == "h01:eth0"
    assert nearest("", ["a", "bc"]) == nearest("xyz", ["abc"]) == []


# -- Lines that fit: no word is lost or put elsewhere or broken without need, and what fits stays as it is


LINES = st.lists(st.text(alphabet="ab1.,-(/| ", max_size=90), max_size=6).map("\n".join)


@given(LINES, st.integers(1, 90))
def test_words_that_fit_stay_whole_and_all_stay_in_order(text: str, width: int) -> None:
    found, width = fit_lines(text, width), max(width, 20)
    assert "".join(found.split()) == "".join(text.split())
    assert {word for word in text.split() if len(word) <= width // 2} <= set(found.split())
    for line in found.split("\n"):
        assert len(line) <= width or (len(line.split()) == 1 and not set(",/|") & set(line.strip()[:-1]))


@given(LINES)
def test_what_fits_is_left_alone(text: str) -> None:
    assert fit_lines(text, 100) == text


def test_the_second_column_stays_a_column() -> None:
    text = "  allreduce       177.067GB/s  reduce-scatter, then allgather"
    assert fit_lines(text, 50) == "  allreduce       177.067GB/s  reduce-scatter,\n                  then allgather"
    assert fit_lines("one " * 20, 30).startswith("one one")


def test_a_long_spec_is_broken_at_commas_and_reads_as_before() -> None:
    spec = "delete(cayley(metacyclic(41,25,10),402,523,570,695),164,7,735,7,171,23,615,16)"
    found = fit_lines(f"best:  {spec}", 40)
    assert max(map(len, found.splitlines())) <= 40
    assert all(line.endswith(",") for line in found.splitlines()[1:-1])
    assert str(parse(found.removeprefix("best:"))) == spec


def test_columns_are_what_is_told_then_what_a_terminal_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    assert columns_of(io.StringIO()) == 70
    for nonsense in ("many", "0", "-5", "99999", ""):
        monkeypatch.setenv("COLUMNS", nonsense)
        assert columns_of(io.StringIO()) is None


# -- Claims: their words say what they are among and what they rest on, and none says more than it is


@pytest.mark.parametrize("proof", Proof)
def test_scope_and_proof_are_in_the_words(proof: Proof) -> None:
    for of, among in product(Of, Scope):
        claim = Claim(of, Fraction(3, 2), among, proof, Fraction(5, 4), "a reason")
        words, listed = str(claim), proof is Proof.LISTED  # which is the best of those compared, not of all
        assert f"{of.best} among {among}" in words or listed, (of, among)
        assert claim.proven == (proof is not Proof.NONE), (of, among)
        assert words.startswith("optimal (proven): ") == (claim.proven and not listed), (of, among)
        assert words.startswith("best of a reason (not proven)") == listed, (of, among)
        assert "a reason" in words, (of, among)
        assert words.startswith(claim.verdict), (of, among)
        assert claim.record()["words"] == words, (of, among)


def test_the_gap_is_that_to_the_bound() -> None:
    dear = Claim(Of.FACTOR, Fraction(3, 2), Scope.TREES, Proof.NONE, Fraction(5, 4))
    slow = Claim(Of.RATE, 400, Scope.TREES, Proof.NONE, 480)
    assert dear.gap == slow.gap == Fraction(1, 5)
    assert "20.00%" in str(dear)
    assert Claim(Of.RATE, 400, Scope.TREES, Proof.NONE).gap is None
    assert Claim(Of.RATE, 400, Scope.TREES, Proof.DUAL, 400).gap == 0
