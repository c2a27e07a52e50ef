"""The parser: everything the runtime's own parser refuses, misreads or crashes on, one rule at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.msccl.test_programs import FAMILIES, ring_allgather, write
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.collectives import ALLGATHER, REDUCE_SCATTER
from topodesign.runtime.check import check_file
from topodesign.runtime.msccl.parse import Program, XmlError, parse_xml
from topodesign.runtime.msccl.profiles import PROFILES, get_profile

EXECUTOR = PROFILES["msccl-executor"]
TEXT = write(ring_allgather(3))


def swap(old: str, new: str, text: str = TEXT) -> str:
    assert old in text
    return text.replace(old, new, 1)


def test_every_attribute_arrives() -> None:
    program = parse_xml(TEXT, EXECUTOR)
    assert (program.name, program.proto, program.nchannels, program.nchunksperloop) == ("t", "Simple", 1, 3)
    assert (program.ngpus, program.coll, program.collective) == (3, "allgather", ALLGATHER)
    assert (program.inplace, program.outofplace, program.min_bytes, program.max_bytes) == (True, True, 0, 65536)
    gpu = program.gpus[1]
    assert (gpu.id, gpu.i_chunks, gpu.o_chunks, gpu.s_chunks) == (1, 1, 3, 0)
    tb = gpu.threadblocks[0]
    assert (tb.id, tb.send, tb.recv, tb.chan, len(tb.steps)) == (0, 2, 0, 0, 4)
    step = tb.steps[2]
    assert (step.s, step.type, step.srcbuf, step.srcoff, step.dstbuf, step.dstoff) == (2, "rcs", "o", 0, "o", 0)
    assert (step.cnt, step.depid, step.deps, step.hasdep) == (1, -1, -1, False)
    assert TEXT.splitlines()[step.line - 1].strip().startswith('<step s="2"')


@pytest.mark.parametrize("name", FAMILIES)
def test_from_a_path_or_from_text(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text(write(FAMILIES[name]))
    assert parse_xml(path, EXECUTOR) == parse_xml(write(FAMILIES[name]), EXECUTOR)


SAME: list[Callable[[str], str]] = [
    lambda text: text.replace("\n", ""),
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.replace("\n", "\n   "),
    lambda text: text.replace('"/>', '" />').replace('">', '" >'),
    lambda text: "<!-- licence\n of it -->\n<!---->" + text + "<!-- <gpu> -- end\t-->\n",
    lambda text: text.replace("/>", "></step>"),
]


@pytest.mark.parametrize("number", range(len(SAME)))
def test_what_the_runtime_tolerates(number: int) -> None:
    changed = SAME[number](TEXT)
    assert changed != TEXT

    def bare(program: Program) -> list[tuple[object, ...]]:
        steps = [(g.id, t.id, s) for g in program.gpus for t in g.threadblocks for s in t.steps]
        return [(g, t, s.s, s.type, s.srcoff, s.dstoff, s.cnt) for g, t, s in steps]

    assert bare(parse_xml(changed, EXECUTOR)) == bare(parse_xml(TEXT, EXECUTOR))


def test_unknown_elements_are_skipped_with_a_warning() -> None:
    extra = swap("</gpu>", '<note a="1"><tb id="7"><deep/></tb></note></gpu>')
    program = parse_xml(extra, EXECUTOR)
    assert [len(gpu.threadblocks) for gpu in program.gpus] == [1, 1, 1]
    assert any("<note> inside <gpu>" in warning for warning in program.warnings)


REFUSED = {
    "declaration": ('<?xml version="1.0"?>\n' + TEXT, "XML declaration"),
    "document type": ("<!DOCTYPE algo>\n" + TEXT, "document type"),
    "byte order mark": ("\ufeff" + TEXT, "byte order mark"),
    "tab between tags": (swap("  <gpu", "\t<gpu"), "tab between tags"),
    "text between tags": (swap("  <gpu", "x<gpu"), "no text between tags"),
    "line break in a tag": (swap(' proto="', '\nproto="'), "line break inside a tag"),
    "tab in a tag": (swap(' proto="', '\tproto="'), "tab inside a tag"),
    "two blanks": (swap(' proto="', '  proto="'), "two blanks"),
    "no blank": (swap(' proto="', 'proto="'), "no blank between"),
    "single quotes": (swap('proto="Simple"', "proto='Simple'"), "single quotes"),
    "no quotes": (swap('proto="Simple"', "proto=Simple"), "without double quotes"),
    "blank at =": (swap('proto="', 'proto ="'), "blank beside"),
    "no value": (swap(' proto="Simple"', " proto"), "without a value"),
    "twice": (swap(' proto="Simple"', ' proto="Simple" proto="LL"'), "twice"),
    "long value": (swap('name="t"', f'name="{"t" * 256}"'), "more than 255"),
    "many attributes": (
        swap(' name="t"', ' name="t"' + "".join(f' a{k}="0"' for k in range(7))),
        "17 attributes",
    ),
    "blank in closing tag": (swap("</gpu>", "</gpu >"), "closing tag"),
    "wrong closing tag": (swap("</tb>", "</gpu>"), "where </tb> is expected"),
    "one closing tag too many": (TEXT + "</algo>", "no closing tag"),
    "cut off": (TEXT[:-9], "cut off"),
    "cut off in a tag": (TEXT[: TEXT.rindex("<step") + 20], "does not end"),
    "cut off in a comment": (TEXT + "<!-- ", "without -->"),
    "= in the first word of a comment": ("<!--a=b -->" + TEXT, "first word"),
    "long first word of a comment": (f"<!--{'x' * 300} -->" + TEXT, "first word"),
    "zero byte": (swap('name="t"', 'name="\0"'), "zero byte"),
    "empty": ("", "no <algo>"),
    "other XML": ("<graph></graph>", "not an MSCCL program"),
    "two programs": (TEXT + TEXT, "second <algo>"),
    "a child of a step": (swap("/>", "><x/></step>"), "a step holds nothing"),
    "unknown coll": (swap('coll="allgather"', 'coll="sum"'), "coll="),
    "unknown proto": (swap('proto="Simple"', 'proto="simple"'), "proto="),
    "unknown type": (swap('type="cpy"', 'type="copy"'), "type="),
    "unknown buffer": (swap('srcbuf="i"', 'srcbuf="x"'), "srcbuf="),
    "hasdep 2": (swap('hasdep="0"', 'hasdep="2"'), "hasdep="),
    "inplace 2": (swap('inplace="1"', 'inplace="2"'), "inplace="),
    "hexadecimal": (swap('cnt="1"', 'cnt="0x1"'), "plain decimal"),
    "octal": (swap('cnt="1"', 'cnt="01"'), "plain decimal"),
    "no number": (swap('cnt="1"', 'cnt=""'), "plain decimal"),
    "fraction": (swap('cnt="1"', 'cnt="1.0"'), "plain decimal"),
    "Unicode digit": (swap('cnt="1"', 'cnt="\u0661"'), "plain decimal"),
    "33 bits": (swap('cnt="1"', f'cnt="{2**31}"'), "32 bits"),
    "33 bits below zero": (swap('cnt="1"', f'cnt="{-(2**31) - 1}"'), "32 bits"),
    "65 bits": (swap('maxBytes="65536"', f'maxBytes="{2**63}"'), "64 bits"),
    "a million digits": (swap('cnt="1"', f'cnt="{"9" * 200}"'), "plain decimal"),
}


@pytest.mark.parametrize("rule", REFUSED)
def test_refused(rule: str) -> None:
    text, words = REFUSED[rule]
    with pytest.raises(XmlError, match=words.replace("(", r"\(")) as caught:
        parse_xml(text, EXECUTOR)
    assert 1 <= caught.value.line <= text.count("\n") + 1


@pytest.mark.parametrize("number", [-(2**31), 2**31 - 1])
def test_numbers_of_32_bits_are_read_to_their_ends(number: int) -> None:
    program = parse_xml(swap('depid="-1"', f'depid="{number}"'), EXECUTOR)
    assert any(step.depid == number for gpu in program.gpus for block in gpu.threadblocks for step in block.steps)


ATTRIBUTES = (
    *("proto", "nchannels", "nchunksperloop", "ngpus", "coll", "inplace", "outofplace", "minBytes", "maxBytes"),
    *("i_chunks", "o_chunks", "s_chunks", "send", "recv", "chan"),
    *("s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep"),
)


@pytest.mark.parametrize("key", ATTRIBUTES)
def test_every_attribute_is_required(key: str) -> None:
    position = TEXT.index(f' {key}="')
    end = TEXT.index('"', position + len(key) + 3) + 1
    with pytest.raises(XmlError, match=f"no attribute '{key}'"):
        parse_xml(TEXT[:position] + TEXT[end:], EXECUTOR)


@pytest.mark.parametrize("tag", ["<gpu", "<tb"])
def test_ids_are_required(tag: str) -> None:
    with pytest.raises(XmlError, match="no attribute 'id'"):
        parse_xml(swap(f'{tag} id="0"', tag), EXECUTOR)


def test_msccl_does_without_three_attributes() -> None:
    text = swap(' outofplace="1" minBytes="0" maxBytes="65536"', "")
    program = parse_xml(text, PROFILES["msccl"])
    assert (program.outofplace, program.min_bytes, program.max_bytes) == (False, 0, 2**27)
    assert len(program.warnings) == 3
    with pytest.raises(XmlError, match="outofplace"):
        parse_xml(text, EXECUTOR)


def test_the_word_for_reduce_scatter_depends_on_the_runtime() -> None:
    text = write(FAMILIES["ring reduce-scatter"])
    assert parse_xml(text, EXECUTOR).collective == REDUCE_SCATTER
    with pytest.raises(XmlError, match="reduce_scatter"):
        parse_xml(text, PROFILES["msccl"])
    assert parse_xml(text.replace("reducescatter", "reduce_scatter"), PROFILES["msccl"]).coll == "reduce_scatter"
    assert {name: profile.coll(REDUCE_SCATTER) for name, profile in PROFILES.items()} == {
        "msccl": "reduce_scatter",
        "msccl-executor": "reducescatter",
        "msccl-executor-256": "reducescatter",
        "rccl": "reducescatter",
    }


def test_errors_name_rank_and_threadblock() -> None:
    head, _, tail = TEXT.partition('<gpu id="1"')
    text = head + '<gpu id="1"' + swap('cnt="1"', 'cnt="x"', tail)
    with pytest.raises(XmlError, match="rank 1: threadblock 0: cnt") as caught:
        parse_xml(text, EXECUTOR)
    assert 'cnt="x"' in text.splitlines()[caught.value.line - 1]


BILLION = '<!DOCTYPE a [<!ENTITY b "&c;&c;&c;"><!ENTITY c "&d;&d;">]><algo name="&b;"/>'
HOSTILE = {
    "garbage": "\x01\x7f%" * 3_400_000,
    "blanks": " " * 10_000_000,
    "open tags": "<algo " * 1_700_000,
    "quotes": "<algo" + ' a="' * 2_500_000,
    "no end of a value": '<algo a="' + "x" * 10_000_000,
    "deep": '<algo a="0">' + "<a>" * 3_000_000,
    "comments": "<!-- -->" * 300_000,
    "open comment": "<!--" + "-" * 10_000_000,
    "billion laughs": BILLION,
    "external entity": '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><algo name="&b;"/>',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_refused_soon(name: str) -> None:
    with pytest.raises(XmlError):
        parse_xml(HOSTILE[name], EXECUTOR)


def test_entities_are_not_decoded() -> None:
    assert parse_xml(swap('name="t"', 'name="&lt;&amp;"'), EXECUTOR).name == "&lt;&amp;"


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="cannot read"):
        check_file(tmp_path / "none.xml")
    with pytest.raises(FileFormatError, match="cannot read"):
        check_file(tmp_path)
    binary = tmp_path / "binary"
    binary.write_bytes(b"<algo \xff\xfe")
    with pytest.raises(FileFormatError, match="not UTF-8"):
        check_file(binary)
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(FileFormatError, match="larger than"):
        check_file(huge)
    with pytest.raises(ParameterError, match="did you mean 'rccl'"):
        get_profile("nccl")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_text_is_read_or_refused(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(TEXT)))
    stop = data.draw(st.integers(start, min(len(TEXT), start + 12)))
    text = TEXT[:start] + data.draw(st.text(st.sampled_from('<>/="-1a \n\t!'), max_size=6)) + TEXT[stop:]
    line = 1
    try:
        program = parse_xml(text, EXECUTOR)
    except XmlError as error:
        line = error.line
    else:
        assert program.gpus or "<gpu" not in text or "<!--" in text
    assert 1 <= line <= text.count("\n") + 1
