"""The spec language: what is read, how it is written, what is refused and where the caret stands."""

from __future__ import annotations

import ast
import dataclasses
import keyword
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from topodesign.base.errors import SpecError
from topodesign.base.spec import DEEPEST_SPEC, LARGEST_INTEGER, LONGEST_SPEC, Spec, parse

CANONICAL = {
    "diamond()": Spec("diamond"),
    "genkautz(4,1024)": Spec("genkautz", (4, 1024)),
    "torus(-3)": Spec("torus", (-3,)),
    "line(circulant(16,3,4),3)": Spec("line", (Spec("circulant", (16, 3, 4)), 3)),
    "line(power(diamond(),2),2)": Spec("line", (Spec("power", (Spec("diamond"), 2)), 2)),
    "cayley(abelian(2,2),1,2)": Spec("cayley", (Spec("abelian", (2, 2)), 1, 2)),
    f"f({LARGEST_INTEGER},{-LARGEST_INTEGER},0)": Spec("f", (LARGEST_INTEGER, -LARGEST_INTEGER, 0)),
}
EQUAL = [
    ["torus(3,4)", "torus( 3 , 4 )", "  torus(3,4)\n", "torus (3,4)", "\ttorus(3,4)", "torus(3,4,)", "(torus(3,4))"],
    ["f(-5)", "f(- 5)", "f((-5))"],
    ["line(diamond())", "line( diamond( ) )", "line((diamond()))"],
]
DIFFERENT = [
    "f()",
    "g()",
    "F()",
    "f(0)",
    "f(1)",
    "f(-1)",
    "f(1,2)",
    "f(2,1)",
    "f(f())",
    "f(f(),1)",
    "f(1,f())",
    "f(10)",
]

# Text, the words of the message, and the offset that the caret points at.
REFUSED = [
    ("", "empty spec", 0),
    (" \n\t ", "empty spec", 0),
    ("genkautz", "requires brackets", 0),
    ("f(genkautz)", "'genkautz' requires brackets", 2),
    ("f(1,2", "1 closing bracket missing", 5),
    ("f(g(h(1", "3 closing brackets missing", 7),
    ("f(1))", "closing bracket without an opening one", 4),
    ("f(1", "closing bracket", 3),
    ("f[1]", "expected an integer or name", 0),
    ("f(1,,2)", "not a spec", 4),
    ("f(,)", "not a spec", 2),
    ("f(1 2)", "not a spec", None),
    ("f(1;2)", "not a spec", None),
    ("f(1) g(2)", "not a spec", None),
    ("f(1),g(2)", "expected an integer or name", 0),
    ("f(1)(2)", "expected an integer or name", 0),
    ("f(1).g", "expected an integer or name", 0),
    ("f.g(1)", "expected an integer or name", 0),
    ("f(2.5)", "expected an integer", 2),
    ("f(1e3)", "expected an integer", 2),
    ("f(1j)", "expected an integer", 2),
    ("f(True)", "expected an integer", 2),
    ("f(None)", "expected an integer", 2),
    ("f(...)", "expected an integer", 2),
    ("f('a')", "expected an integer", 2),
    ('f("\\d")', "expected an integer", 2),
    ("f(0x10)", "write the integer as 16", 2),
    ("f(1_000)", "write the integer as 1000", 2),
    ("f(00)", "write the integer as 0", 2),
    ("f(007)", "not a spec", 2),
    ("f(+5)", "expected an integer or name", 2),
    ("f(--5)", "minus sign", 2),
    ("f(-(-5))", "minus sign", 2),
    ("f(-g())", "minus sign", 2),
    ("f(~5)", "expected an integer or name", 2),
    ("f(2*3)", "expected an integer or name", 2),
    ("f(2**9999999)", "expected an integer or name", 2),
    ("f(n=3)", "arguments have no names", 2),
    ("f(1,n=3)", "arguments have no names", 4),
    ("f(*[1])", "expected an integer or name", 2),
    ("f(**{})", "arguments have no names", 2),
    ("f([1])", "expected an integer or name", 2),
    ("f(1 if 1 else 2)", "expected an integer or name", 2),
    ("f(1if 1else 2)", "expected an integer or name", 2),
    ("f(x for x in y())", "expected an integer or name", 1),
    ("f(lambda: 1)", "expected an integer or name", 2),
    ("f(y := 1)", "expected an integer or name", 2),
    ("f(f'{1}')", "expected an integer or name", 2),
    ("(yield)", "expected an integer or name", 1),
    ("await f()", "expected an integer or name", 0),
    ("lambda: f()", "expected an integer or name", 0),
    ("if", "not a spec", 0),
    ("1", "a spec is a name with arguments", 0),
    ("  7  ", "a spec is a name with arguments", 2),
    ("f(1) # remark", "no comments", 5),
    ("f(\0)", "plain ASCII", 2),
    ("f\N{NO-BREAK SPACE}(1)", "plain ASCII", 1),
    ("\N{ZERO WIDTH NO-BREAK SPACE}f(1)", "plain ASCII", 0),
    ("caf\N{LATIN SMALL LETTER E WITH ACUTE}(1)", "plain ASCII", 3),
    ("f(\N{ARABIC-INDIC DIGIT THREE})", "plain ASCII", 2),
    ("f(\ud800)", "plain ASCII", 2),
    ("\x1b[31mf(1)", "plain ASCII", 0),
    (f"f({LARGEST_INTEGER + 1})", "integers go up to", 2),
    (f"f(-{LARGEST_INTEGER + 1})", "integers go up to", 3),
    ("f(" + "9" * 3900 + ")", "integers go up to", 2),
    ("f(" * 42 + ")" * 42, "nest at most 40 deep", 82),
    ("f(" * 1000 + ")" * 1000, "", None),
    ("(" * 3000, "3000 closing brackets missing", 3000),
    ("f(" + "-" * 3900 + "1)", "", None),
    ("~" * 3999 + "1", "", None),
    ("not " * 900 + "f()", "", None),
    ("a." * 1900 + "a()", "", None),
    ("lambda:" * 500 + "1", "", None),
    ("f" * (LONGEST_SPEC + 1), f"longer than {LONGEST_SPEC}", 0),
    ("f" * 10**7, f"longer than {LONGEST_SPEC}", 0),
    ("__import__('os').system('true')", "expected an integer or name", 0),
]


@pytest.mark.parametrize("text", CANONICAL)
def test_canonical_text_comes_back(text: str) -> None:
    assert parse(text) == CANONICAL[text]
    assert str(parse(text)) == text


@pytest.mark.parametrize("texts", EQUAL, ids=lambda texts: texts[0])
def test_equal(texts: list[str]) -> None:
    assert {parse(text) for text in texts} == {parse(texts[0])}
    assert {str(parse(text)) for text in texts} == {texts[0]}


def test_different() -> None:
    assert len({parse(text) for text in DIFFERENT}) == len(DIFFERENT)


@pytest.mark.parametrize(("text", "words", "position"), REFUSED, ids=lambda value: ascii(value)[:24])
def test_what_is_wrong_is_said_with_a_caret_under_it(text: str, words: str, position: int | None) -> None:
    with pytest.raises(SpecError) as caught:
        parse(text)
    error = caught.value
    assert words in error.message
    assert "\n" not in error.message
    assert 0 <= error.position <= len(error.text)
    if position is not None:
        assert error.position == position
    message, window, caret = str(error).split("\n")
    assert message == error.message
    assert caret.strip() == "^"
    assert len(window) <= 102
    column = caret.index("^")
    shown, fault = window[column : column + 1], error.text[error.position :][:1]
    assert shown == (fault if fault.isprintable() else " ")
    assert window.isprintable()


def test_longest_and_deepest_that_are_read() -> None:
    assert parse("f" * (LONGEST_SPEC - 2) + "()").name == "f" * (LONGEST_SPEC - 2)
    deep = "f(" * DEEPEST_SPEC + "f()" + ")" * DEEPEST_SPEC
    assert str(parse(deep)) == deep


def test_position_is_kept_but_not_compared() -> None:
    outer = parse("  line(diamond(),2)")
    inner = outer.args[0]
    assert isinstance(inner, Spec)
    assert (outer.position, inner.position) == (2, 7)
    assert inner == Spec("diamond")
    assert hash(inner) == hash(Spec("diamond"))
    assert "position" not in repr(outer)


def test_spec_is_frozen() -> None:
    spec = parse("f(1)")
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.name = "g"  # type: ignore[misc]


def test_reading_a_spec_warns_of_nothing() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for text in ("f(1or 2)", 'f("\\d")', "f(1if 1else 2)", "f(1is 1)"):
            with pytest.raises(SpecError):
                parse(text)
    assert not seen


NAMES = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,8}\Z").filter(lambda name: not keyword.iskeyword(name))
INTEGERS = st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
SPECS = st.recursive(
    st.builds(Spec, NAMES, st.lists(INTEGERS, max_size=4).map(tuple)),
    lambda inner: st.builds(Spec, NAMES, st.lists(inner | INTEGERS, max_size=3).map(tuple)),
    max_leaves=8,
)


@given(SPECS)
def test_round_trip(spec: Spec) -> None:
    assert parse(str(spec)) == spec
    assert str(parse(str(spec))) == str(spec)


@given(SPECS, st.data())
def test_blanks_between_tokens_change_nothing(spec: Spec, data: st.DataObject) -> None:
    blanks = st.sampled_from(["", " ", "  ", "\n  ", "\r\n", "\t"])
    text = "".join(data.draw(blanks) + character if character in "(),-" else character for character in str(spec))
    assert parse(text + data.draw(blanks)) == spec


@pytest.mark.floor(read=15, refused=30)
@settings(max_examples=200)
@given(SPECS, st.data())
def test_a_changed_character_is_read_as_python_reads_it(spec: Spec, data: st.DataObject) -> None:
    text = str(spec)
    at = data.draw(st.integers(0, len(text) - 1))
    text = text[:at] + data.draw(st.sampled_from(["", *"()-,9x .='[#"])) + text[at + 1 :]
    try:
        read = parse(text)
    except SpecError:
        reached("refused")
        return
    reached("read")
    assert parse(str(read)) == read
    assert ast.dump(ast.parse(str(read))) == ast.dump(ast.parse(text.strip()))


ALPHABET = st.text(st.sampled_from("fg_(),-. 0129=*[]{}'\"\\#:;lambdinotx\n\t@!~%"))


@given(st.text() | ALPHABET | st.binary().map(lambda data: data.decode("latin-1")))
def test_any_text_is_a_spec_or_a_spec_error(text: str) -> None:
    error = None
    try:
        spec = parse(text)
    except SpecError as caught:
        error = caught
    if error is None:
        assert parse(str(spec)) == spec
    else:
        assert 0 <= error.position <= len(error.text)
        assert str(error).count("\n") >= 2
