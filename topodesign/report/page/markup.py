"""A report's document as self-contained HTML, with everything escaped."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from pathlib import Path

from topodesign.base.records import Table
from topodesign.report.charts.chart import Number
from topodesign.report.page.parts import (
    Commands,
    Diagram,
    Document,
    Facts,
    Listing,
    Part,
    Played,
    Plotted,
    Racked,
    Section,
    Summary,
    Words,
)
from topodesign.report.page.plotted import chart_element
from topodesign.wiring.exports.rack_rows import draw_rack_rows

_ASSETS = Path(__file__).with_name("assets")
_CLOSING = "All figures are exact; decimals are rounded for reading."
_THEME = '<button type="button" id="theme" aria-label="Switch between light and dark">Light / dark</button>'
_MAX_NARROW = 2  # columns of a table that stays one on a phone; of more every row is a card
_MAX_NUMBERS = 300  # points of a chart whose numbers are also given as a table


def markup(document: Document, program: str) -> str:
    """Return the page."""
    script, style = _asset("page.js"), _asset("page.css")
    rule = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(script)}",
            "style-src 'unsafe-inline'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    several = len(document.choices) > 1
    body = [
        _header(document),
        _summary(document.summary),
        *(_section(section, f"s{number}", document) for number, section in enumerate(document.sections)),
        *_choices(document, several=several),
        f"<footer><p>Made by {_text(program)}. {_CLOSING}</p></footer>",
    ]
    data = json.dumps(document.record(), separators=(",", ":"), ensure_ascii=True)
    return "\n".join([
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_text(rule)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f'<meta name="generator" content="{_text(program)}">',
        '<link rel="icon" href="data:,">',
        f"<title>{_text(document.title)} \u2013 topodesign</title>",
        f"<style>\n{style}</style>",
        "</head>",
        "<body>",
        *body,
        f'<script type="application/json" id="data">{_inert(data)}</script>',
        f"<script>{script}</script>",
        "</body>",
        "</html>",
        "",
    ])  # fmt: skip


@cache
def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _inert(data: str) -> str:
    """Return JSON in which nothing can end or open an element."""
    return data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _text(text: str) -> str:
    return html.escape(text, quote=True)


def _broken(text: str) -> str:
    """Return text that may wrap within specs, numbers and names."""
    return re.sub(r"(,|(?<=\w)\(|/(?=\w\w))(?=\S)", r"\1<wbr>", _text(text))


def _header(document: Document) -> str:
    titles = [section.title for section in document.sections]
    links = ['<a href="#summary">Summary</a>']
    links += [f'<a href="#s{number}">{_text(title)}</a>' for number, title in enumerate(titles)]
    links += [f'<a href="#c{document.chosen}s{n}" data-place="{n}">{_text(section.title)}</a>' for n, section in
              enumerate(document.choices[document.chosen].sections)]  # fmt: skip
    return "\n".join([
        '<a class="skip" href="#main">Skip to the report</a>',
        "<header>",
        f'<div class="bar"><span class="brand">topodesign</span>{_THEME}</div>',
        f"<h1>{_broken(document.title)}</h1>",
        f'<p class="verdict">{_broken(document.verdict)}</p>',
        f'<p class="setting">{_broken(document.setting)}</p>',
        f'<nav aria-label="Sections">{"".join(links)}</nav>',
        "</header>",
        '<main id="main">',
    ])  # fmt: skip


def _summary(summary: Summary) -> str:
    """Return the summary, which is printed on a page of its own."""
    figures = "\n".join(
        f'<div class="figure"><dt>{_text(one.name)}</dt><dd>{_broken(one.value)}</dd>'
        f'<dd class="note">{_broken(one.about)}</dd></div>'
        for one in summary.figures
    )
    price = "".join(f"<p>{_broken(line)}</p>" for line in summary.price)
    name = f'<p class="name">{_broken(summary.name)}</p>'
    return "\n".join([
        '<section class="summary" id="summary" aria-labelledby="summaryh">',
        '<h2 id="summaryh" class="unseen">Summary</h2>',
        f'{name}<dl class="figures">\n{figures}\n</dl><div class="price">{price}</div>',
        _picture(summary.picture),
        "</section>",
    ])  # fmt: skip


def _picture(part: Diagram | Racked | None) -> str:
    if isinstance(part, Racked):
        return f"<figure><figcaption>{_broken(part.rows.title)}</figcaption>{draw_rack_rows(part.rows)}</figure>"
    return "" if part is None else _part(part, "summary-picture", None)


def _choices(document: Document, *, several: bool) -> Iterable[str]:
    """Return the sections of every choice; only the chosen one is visible."""
    for number, choice in enumerate(document.choices):
        hidden = " hidden" if number != document.chosen else ""
        title = f'<h2 class="about">About <span class="spec">{_broken(choice.name)}</span></h2>' if several else ""
        yield f'<div class="choice" data-choice="{number}"{hidden}>{title}'
        for place, section in enumerate(choice.sections):
            yield _section(section, f"c{number}s{place}", document)
        yield "</div>"
    yield "</main>"


def _section(section: Section, name: str, document: Document) -> str:
    parts = []
    numbered = [(part, f"{name}p{place}") for place, part in enumerate(section.parts)]
    for charts, group in groupby(numbered, key=lambda pair: isinstance(pair[0], Plotted)):
        texts = [_part(part, place, document) for part, place in group]
        parts += [f'<div class="pair">{"".join(texts)}</div>'] if charts and len(texts) > 1 else texts
    return "\n".join([
        f'<section id="{name}" aria-labelledby="{name}h">',
        f'<h2 id="{name}h">{_text(section.title)}</h2>',
        *parts,
        "</section>",
    ])  # fmt: skip


def _part(part: Part, name: str, document: Document | None) -> str:
    if isinstance(part, Words):
        return "\n".join(f"<p>{_broken(line)}</p>" for line in part.lines)
    if isinstance(part, Facts):
        return _facts(part)
    if isinstance(part, Listing):
        return _listing(part, name, document)
    if isinstance(part, Commands):
        return _commands(part)
    if isinstance(part, Plotted):
        return _plot_part(part, name)
    return _moving(part, name)


def _facts(part: Facts) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{_text(one.name)}</th><td class="exact">{_broken(one.exact)}</td>'
        f"<td>{_broken(one.about)}</td><td>{_broken(one.proof)}</td></tr>"
        for one in part.facts
    )
    head = "".join(f'<th scope="col">{title}</th>' for title in ("Figure", "Exactly", "In short", "How it is known"))
    return (
        f'<div class="wide"><table class="facts"><thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table></div>'
    )


def _listing(part: Listing, name: str, document: Document | None) -> str:
    table = part.table
    order = list(range(len(table.columns)))
    if part.named:
        order = [order[-1], *order[:-1]]
    chosen = document if part.chooses and document is not None and len(document.choices) > 1 else None
    head = "".join(f'<th scope="col"{_side(table.columns[k], table)}>{_text(table.columns[k])}</th>' for k in order)
    rows = []
    for place, cells in enumerate(table.rows):
        kind = ' class="compared"' if table.compared is not None and place >= table.compared else ""
        pick = ""
        if chosen is not None:
            if place < len(chosen.choices):
                kind, pick = _pick(place, chosen), _radio(place, chosen)
            pick = f'<td class="pick">{pick}</td>'
        body = "".join(
            f'<th scope="row" class="spec">{_cell(cells[k])}</th>'
            if part.named and k == order[0]
            else f'<td{_side(table.columns[k], table)} data-label="{_text(table.columns[k])}">{_cell(cells[k])}</td>'
            for k in order
        )
        rows.append(f"<tr{kind}>{pick}{body}</tr>")
    first = '<th scope="col" class="pick"><span class="unseen">Show</span></th>' if chosen is not None else ""
    note = "".join(f'<p class="note">{_broken(line)}</p>' for line in table.footnote.splitlines())
    hint = '<p class="note">Choose a row or a point: the sections below follow.</p>' if chosen is not None else ""
    title = f"<caption>{_text(table.heading)}</caption>" if table.heading else ""
    body = "\n".join(rows)
    kind = ' class="cards"' if len(order) > _MAX_NARROW else ""
    return (
        f'{hint}<div class="wide"><table id="{name}"{kind}>{title}<thead><tr>{first}{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>{note}"
    )


def _pick(place: int, document: Document) -> str:
    return f' data-pick="{place}"{" class=chosen" if place == document.chosen else ""}'


def _radio(place: int, document: Document) -> str:
    about = _text(f"Show {document.choices[place].name}")
    checked = " checked" if place == document.chosen else ""
    return f'<input type="radio" name="choice" value="{place}" aria-label="{about}"{checked}>'


def _cell(cell: str) -> str:
    text = cell.strip()
    if text.endswith("*"):
        return f'<strong>{_cell(text[:-1])}<span class="best" title="best of its column"> *</span></strong>'
    return _broken(" ".join(text.split()))


def _number(value: Number) -> str:
    return f'<td class="number">{float(value):.6g}</td>'


def _side(title: str, table: Table) -> str:
    return ' class="word"' if title in table.words else ' class="number"'


def _commands(part: Commands) -> str:
    rows = "\n".join(f"<li><span>{_text(about)}</span><code>{_text(line)}</code></li>" for about, line in part.steps)
    return f'<ol class="commands">\n{rows}\n</ol>'


def _plot_part(part: Plotted, name: str) -> str:
    chart = part.chart
    numbers = ""
    if 0 < sum(len(one.x) for one in chart.series) <= _MAX_NUMBERS:
        rows = "\n".join(
            f"<tr><td>{_text(one.name)}</td>{_number(x)}{_number(y)}</tr>"
            for one in chart.series
            if one.name
            for x, y in zip(one.x, one.y, strict=True)
        )
        numbers = (
            f'<details><summary>Numbers</summary><div class="wide"><table><thead><tr><th scope="col">series</th>'
            f'<th scope="col" class="number">{_text(chart.x_label)}</th>'
            f'<th scope="col" class="number">{_text(chart.y_label)}</th></tr></thead><tbody>\n{rows}\n</tbody></table>'
            "</div></details>"
        )
    note = f'<p class="note">{_broken(chart.note)}</p>' if chart.note else ""
    return (
        f'<figure><figcaption>{_broken(chart.title)}</figcaption><div class="chart" id="{name}">'
        f"{chart_element(chart, name, chooses=part.chooses)}</div>{note}{numbers}</figure>"
    )


def _moving(part: Diagram | Played, name: str) -> str:
    """Return the placeholder of a drawing or player, which the script fills."""
    shown = part.drawing if isinstance(part, Diagram) else part
    kind = "drawing" if isinstance(part, Diagram) else "player"
    return (
        f'<figure><figcaption>{_broken(shown.title)}</figcaption><div class="{kind}" id="{name}"></div>'
        f'<p class="note">{_broken(shown.note)}</p></figure>'
    )
