"""A report is one page that needs nothing else, holds what the results say exactly, and lets no text become markup."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from lxml import html as lxml_html

from topodesign import (
    build,
    evaluate,
    optimum,
    pareto,
    price,
    report_page,
    save_plan,
    schedule,
    simulate,
    verify,
    write_links,
)
from topodesign.base.errors import ParameterError
from topodesign.base.units import format_time, parse_size
from topodesign.cli.main import run
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.report.page.page import Page

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&"


@pytest.fixture(scope="module")
def pages() -> dict[str, Page]:
    return {
        "answer": report_page(pareto(30, 4, sizes=["1MiB", "1GB"], runners_up=1), against="torus,ring"),
        "topology": report_page("circulant(12,2,3)"),
        "fabric": report_page("dgx_a100(2)"),
        "plan": report_page(schedule("genkautz(2,9)", "allgather")),
    }


def parsed(text: str) -> Any:
    """The document of a page; Any, since an XPath may give anything."""
    return lxml_html.document_fromstring(text)


def facts(page: Page, choice: int = 0) -> dict[str, str]:
    parts = [part for section in page.record()["choices"][choice]["sections"] for part in section["parts"]]
    return {one["name"]: one["exact"] for part in parts if part["part"] == "facts" for one in part["facts"]}


def every_part(page: Page) -> list[dict[str, Any]]:
    record = page.record()
    sections = [*record["sections"], *(one for choice in record["choices"] for one in choice["sections"])]
    first = record["summary"]["picture"]
    return [*([first] if first else []), *(part for section in sections for part in section["parts"])]


@pytest.mark.dear("answer", "plan", "topology")
@pytest.mark.parametrize("kind", ["answer", "topology", "fabric", "plan"])
def test_a_page_is_whole_and_asks_for_nothing(pages: dict[str, Page], kind: str, tmp_path: Path) -> None:
    text = pages[kind].html()
    tree = parsed(text)
    for element in tree.iter():
        for name, value in element.attrib.items():
            assert name not in {"src", "srcset", "action", "data", "poster", "style"} or element.tag == "svg"
            assert name != "href" or value.startswith(("#", "data:"))
            assert not name.startswith("on")
    assert not tree.xpath("//iframe|//object|//embed|//img|//link[@rel!='icon']")
    assert "@import" not in text
    assert "url(" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL).replace("url(#", "")
    rule = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    assert rule.startswith("default-src 'none'; script-src 'sha256-")
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids))
    for place in tree.xpath("//@href[starts-with(., '#')]|//@aria-labelledby"):
        assert place.removeprefix("#") in ids
    assert tree.xpath("//html/@lang") == ["en"]
    assert len(tree.xpath("//h1")) == 1
    assert all(box.get("aria-label") or box.getparent().tag == "label" for box in tree.xpath("//input"))
    assert all(table.xpath(".//th[@scope]") for table in tree.xpath("//table"))
    data = json.loads(tree.xpath("//script[@type='application/json']")[0].text)
    record = json.loads(json.dumps(pages[kind].record()))
    assert data == {name: value for name, value in record.items() if name != "program"}
    assert len(text.encode()) < 500_000
    path = tmp_path / "a.html"
    pages[kind].save(path)
    assert path.read_text() == text == pages[kind].html()


@pytest.mark.dear
def test_every_moving_part_has_its_place(pages: dict[str, Page]) -> None:
    for page in pages.values():
        tree = parsed(page.html())
        boxes = tree.xpath("//div[@class='chart' or @class='drawing' or @class='player']")
        moving = [part for part in every_part(page) if part["part"] in {"chart", "drawing", "player"}]
        assert len(boxes) == len(moving) > 0


def test_an_answer_holds_exact_figures_of_every_choice(pages: dict[str, Page]) -> None:
    found, page = pareto(30, 4, sizes=["1MiB", "1GB"], runners_up=1), pages["answer"]
    headline = page.record()["verdict"]
    assert headline.startswith(f"Wire {found.best.short}: an allreduce of 1MiB takes ")
    assert headline.endswith(f". {found.verdict}")
    assert {**found.record(), "against": page.record()["result"]["against"]} == page.record()["result"]
    assert len(page.document.choices) == len(found)
    assert page.document.chosen == found.entries.index(found.best)
    for place, entry in enumerate(found):
        figures, cost = facts(page, place), price(entry.spec)
        assert figures["Steps"] == str(cost.steps)
        assert Fraction(figures.get("Bandwidth factor", "0")) in {0, cost.bandwidth}
        for size, time in zip(("1MiB", "1GB"), evaluate(entry.spec, sizes=["1MiB", "1GB"]).allreduce, strict=True):
            assert Fraction(figures[f"Allreduce of {size}"].removesuffix(" s")) == time
    chart = next(part for part in every_part(page) if part["part"] == "chart" and part["chooses"])
    texts = chart["series"][0]["texts"]
    assert all(f"BW factor {one.mean.bandwidth}" in text for one, text in zip(found, texts, strict=True))
    told = next(part for part in every_part(page) if part["part"] == "table" and "next by" in part["columns"])
    assert [row[-1] for row in told["rows"][1:]] == list(
        dict.fromkeys(one.entry.spec for one in found.runners_up or ())
    )
    assert [one["name"] for one in page.record()["result"]["against"]["contenders"]][1:] == ["torus", "ring"]


def test_a_topology_and_a_fabric_hold_their_exact_figures(pages: dict[str, Page]) -> None:
    figures = facts(pages["topology"])
    assert (figures["Steps"], Fraction(figures["Bandwidth factor"])) == (
        str(price("circulant(12,2,3)").steps),
        price("circulant(12,2,3)").bandwidth,
    )
    best = optimum("dgx_a100(2)")
    assert facts(pages["fabric"])["Throughput"] == f"{best.bandwidth} B/s"
    assert pages["fabric"].record()["result"] == best.record()
    words = best.record()["bottleneck"]
    assert any(part["part"] == "words" and words[1:] in part["lines"][0] for part in every_part(pages["fabric"]))
    drawn = next(part for part in every_part(pages["fabric"]) if part["part"] == "drawing")
    marked = {(drawn["nodes"][u][0], drawn["nodes"][v][0]) for u, v, _, _, about in drawn["links"] if about}
    binding = {(link["from"], link["to"]) for link in best.record()["bottleneck_links"]}
    assert {frozenset(ends) for ends in marked} == {frozenset(ends) for ends in binding}


@pytest.mark.dear
def test_a_topology_costs_what_the_cheaper_schedules_do() -> None:
    specs = [f"randomregular(24,3,{seed})" for seed in range(1, 20)]
    spec = next(one for one in specs if len({cost.bandwidth for cost in evaluate(one).cheapest}) == 2)
    page, found = report_page(spec), evaluate(spec)
    told = facts(page)
    assert found.methods == ("deferred",)
    factors = (told["BW factor of reduce-scatter"], told["BW factor of allgather"])
    assert factors == tuple(str(cost.bandwidth) for cost in found.cheapest)
    assert told["Allreduce of 1MiB"] == f"{found.allreduce[0]} s"
    assert "by deferred schedules" in page.html()
    total = sum(cost.bandwidth for cost in found.cheapest)
    assert told["Plan"] == f"steps {2 * found.cost.steps}, bandwidth {total}"


def test_a_plan_is_replayed_and_timed(pages: dict[str, Page]) -> None:
    plan = schedule("genkautz(2,9)", "allgather")
    figures = facts(pages["plan"])
    assert Fraction(figures["bandwidth"]) == verify(plan).figures["bandwidth"]
    assert Fraction(figures["Time of 1MiB"].removesuffix(" s")) == simulate(plan, size=parse_size("1MiB")).time
    assert pages["plan"].record()["verdict"].startswith("The plan is right")


def test_a_wrong_plan_is_called_so() -> None:
    plan = schedule("circulant(6,1,2)", "allgather")
    moved = plan.rounds.some(plan.rounds.step < plan.rounds.steps)
    page = report_page(type(plan)(plan.topology, moved, plan.claim))
    assert page.record()["verdict"].startswith("The plan is WRONG")


def test_no_text_becomes_markup(tmp_path: Path) -> None:
    names = [f"{EVIL}{number}"[:99] for number in range(3)]
    links = [FabricLink(a, b, Fraction(10**9), EVIL) for a in names for b in names if a != b]
    page = report_page(Fabric.from_links(EVIL, names, (), links))
    for text in (page.html(), report_page(schedule(Fabric.from_links(EVIL, names, (), links), "allgather")).html()):
        tree = parsed(text)
        assert len(tree.xpath("//script")) == 2
        assert not tree.xpath("//img")
        assert "<script>alert" not in text
        assert EVIL in tree.xpath("string(//h1)")
    path = tmp_path / "a b'; rm -rf $HOME #.json"
    path.write_text(write_links(build("uniring(1,3)"), "json"))
    commands = [
        step["command"]
        for part in every_part(report_page(path))
        if part["part"] == "commands"
        for step in part["steps"]
    ]
    assert any("'\"'\"'; rm -rf" in line for line in commands)


@pytest.mark.dear
def test_the_same_question_has_the_same_page(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    assert run(["pareto", "--plot-kind", "page", "-n", "12", "-d", "4", "-o", str(one)]) == 0
    assert capsys.readouterr().out.startswith(f"wrote {one}: 12 nodes of degree 4\n")
    assert run(["pareto", "--plot-kind", "page", "-n", "12", "-d", "4", "--json", "-o", str(two)]) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith(f"wrote {two}")
    told = json.loads(printed.out)
    assert told.pop("schema") == "topodesign/pareto/1"
    assert told == json.loads(json.dumps(report_page(pareto(12, 4)).record()))
    assert one.read_bytes() == two.read_bytes()


def test_a_plan_file_is_reported_on_and_not_written_over(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = save_plan(tmp_path / "p.npz", schedule("circulant(6,1,2)", "allgather", method="tacos"))
    assert run(["evaluate", "--plot-kind", "page", str(path), "-o", str(path)]) == 2
    assert run(["evaluate", "--plot-kind", "page", str(path), "-o", "p.html"]) == 0
    assert "topodesign compile" in Path("p.html").read_text()
    capsys.readouterr()
    for words in (["-n", "12"], ["torus(3,3)", "-n", "12", "-d", "4"], [], ["torus(3,3)", "--top", "2"]):
        assert run(["evaluate", "--plot-kind", "page", *words, "-o", "q.html"]) == 2
    assert run(["evaluate", "--plot-kind", "page", "torus(3,3)"]) == 2
    assert run(["evaluate", "--plot-kind", "page", str(path), "--collective", "allgather", "-o", "q.html"]) == 2
    assert not Path("q.html").exists()


def test_what_there_is_no_report_on_is_said() -> None:
    with pytest.raises(ParameterError, match="'topodesign compare' takes any"):
        report_page("dgx_a100(1)", against="ring")
    with pytest.raises(ParameterError, match="have their own"):
        report_page(pareto(9, 4), collective="allgather")


@pytest.mark.parametrize("collective", ["allgather", "all-to-all"])
def test_a_topology_has_the_collective_that_was_asked_for_and_others_beside_it(collective: str) -> None:
    """The first figure is what pareto prints for the same topology; the others are those of compare."""
    page = report_page("circulant(12,2,3)", collective=collective, against="torus,ring").record()
    row = pareto(12, 4, collective=collective, candidates=["circulant(12,2,3)"], catalog=False).candidates
    assert row is not None
    assert page["summary"]["figures"][0]["value"] == format_time(row[0].times[0])
    assert len(page["result"]["against"]["contenders"]) == 3


@pytest.mark.dear
def test_an_all_to_all_has_its_cut() -> None:
    page, best = report_page("dgx_a100(2)", collective="all-to-all"), optimum("dgx_a100(2)", "all-to-all")
    assert facts(page)["Throughput"] == f"{best.bandwidth} B/s"
    assert page.record()["result"] == best.record()
    drawn = next(part for part in every_part(page) if part["part"] == "drawing")
    marked = {frozenset((drawn["nodes"][u][0], drawn["nodes"][v][0])) for u, v, _, _, about in drawn["links"] if about}
    assert marked == {frozenset((link.src, link.dst)) for link in best.solution.links}


def brightness(colour: str) -> float:
    """The relative luminance of a colour, as WCAG 2 has it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_words_stand_out_from_what_they_are_on(pages: dict[str, Page]) -> None:
    """At least 4.5 to 1 for text and 3 to 1 for lines and marks, light and dark."""
    blocks = re.findall(r"--page: #[^}]*?--six[^}]*?color-scheme: (?:light|dark)", pages["topology"].html())
    assert [block.split()[-1] for block in blocks] == ["light", "dark", "dark"]
    for block in blocks:
        colours = {name: brightness(value) for name, value in re.findall(r"--(\w+): (#\w{6})", block)}

        def ratio(one: str, other: str, known: dict[str, float] = colours) -> float:
            high, low = sorted((known[one], known[other]), reverse=True)
            return (high + 0.05) / (low + 0.05)

        for word, ground in (
            ("ink", "card"), ("ink", "page"), ("soft", "card"), ("soft", "page"), ("accent", "card"),
            ("accent", "tint"), ("good", "card"), ("ink", "tint"),
        ):  # fmt: skip
            assert ratio(word, ground) >= 4.5, (word, ground)
        for mark in ("one", "two", "three", "four", "five", "six", "muted", "hot"):
            assert ratio(mark, "card") >= 3, mark
