"""Words in messages: articles, lists, counts, and what was meant is found among what is known."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import topodesign
from topodesign.base.wording import counted, listed, nearest, suggest, with_article
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
    assert listed(list("abcd")) == "a, b, c and d"
    assert listed(list("abcdef")) == "a, b, c and 3 more"
    assert counted(1, "switch", "switches") == "1 switch"
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
    assert nearest("C01", ["C101", "C001", "C011"])[0] == "C001"
    assert nearest("evalaute", ["evaluate", "validate"], 1) == ["evaluate"]
    assert nearest("h1:eth0", ["h10:eth0", "h01:eth0"])[0] == "h01:eth0"
    assert nearest("", ["a", "bc"]) == nearest("xyz", ["abc"]) == []
