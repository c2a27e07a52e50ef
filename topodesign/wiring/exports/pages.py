"""HTML pages for technicians: styles and tables."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

STYLE = """
body { font: 11pt/1.35 sans-serif; margin: 1.5em; color: #000; background: #fff; }
h1, h2 { overflow-wrap: anywhere; }
h1 { font-size: 1.4em; } h2 { font-size: 1.25em; border-bottom: 2px solid #000; } h3 { font-size: 1.05em; }
table { border-collapse: collapse; width: 100%; margin: .6em 0 1.4em; }
th, td { border: 1px solid #999; padding: .15em .4em; text-align: left; font-size: .85em; }
th { background: #eee; } th.heading { background: #fff; border: 0; font-size: 1em; padding: .4em 0; }
td.code { font-family: monospace; } td.name { white-space: nowrap; } td.write { min-width: 3em; }
td.done { width: 1.2em; } .colour { display: inline-block; width: .8em; height: .8em; border: 1px solid #000; }
tr:target, tr:has(:target) { outline: 3px solid #c60; background: #fff3d0; }
ul.devices { columns: 15em; list-style: none; margin: 0; padding: 0; font-size: .8em; }
figure { margin: .6em 0 1.4em; break-inside: avoid; } figure svg { width: 100%; height: auto; max-height: 90vh; }
pre { font-size: .85em; white-space: pre-wrap; }
@media screen { figure svg.panel, figure svg.racks { max-height: none; } .strip { display: none; } }
@page { size: A4 landscape; margin: 16mm 12mm 12mm; }
@media print {
  body { margin: 0; print-color-adjust: exact; -webkit-print-color-adjust: exact; } nav, .search { display: none; }
  section + section { break-before: page; } tr { break-inside: avoid; } figure svg { max-height: 165mm; }
  figure svg:not(.panel) { max-height: 125mm; } figure svg.racks { max-height: 140mm; }
  figure.whole { display: none; } figure.strip { break-after: page; }
}
@media screen and (max-width: 45em) {
  body { margin: .6em; } thead { display: none; } td { display: block; border: 0; padding: .05em 0; }
  tr { display: block; border: 1px solid #999; padding: .3em .5em; margin: .4em 0; }
  td.done, td.name { display: inline-block; width: auto; padding-right: .6em; font-weight: bold; }
  td:empty { display: none; } td[data-of]::before { content: attr(data-of) ": "; color: #555; }
  figure { overflow-x: auto; } figure svg.panel { width: 70em; max-height: none; }
}
"""


def page(title: str, body: Iterable[str]) -> str:
    """Return a self-contained HTML page.

    It loads nothing from elsewhere and runs only the scripts that ``body`` contains.
    """
    lines = list(body)
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_policy(lines))}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{STYLE}{_print_header(title)}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
    ]
    return "\n".join([*parts, *lines, "</body></html>"]) + "\n"


def _print_header(title: str) -> str:
    """Return the style that prints the title and the page number on every sheet."""
    text = re.sub(r"[^ \w.,:()-]", lambda letter: f"\\{ord(letter[0]):06x}", title)
    return (
        f'@page {{ @top-left {{ content: "{text}"; width: 85%; font: bold 9pt sans-serif; }}'
        ' @top-right { content: counter(page) " / " counter(pages); font: 9pt sans-serif; } }\n'
    )


def _policy(body: Sequence[str]) -> str:
    """Return the content security policy of a page."""
    scripts = re.findall(r"<script( src)?[^>]*>(.*?)</script>", "\n".join(body), re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for file, text in scripts if not file]
    allowed = [f"'sha256-{digest}'" for digest in digests] + (["'self'", "file:"] if any(f for f, _ in scripts) else [])
    scripts_from = " ".join(allowed or ["'none'"])
    return (
        f"default-src 'none'; script-src {scripts_from}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def contents(sections: Iterable[tuple[str, str]]) -> str:
    """Return links to sections, from their ids and names."""
    return (
        "<nav><ul>" + "".join(f'<li><a href="#{key}">{escape(name)}</a></li>' for key, name in sections) + "</ul></nav>"
    )


def table(heading: str, columns: Sequence[str], rows: Iterable[str]) -> Iterator[str]:
    """Yield the lines of an HTML table; none without rows.

    Every printed page repeats the table head.
    """
    made = list(rows)
    if made:
        head = "".join(f"<th>{escape(column)}</th>" for column in columns)
        title = f'<tr><th class="heading" colspan="{len(columns)}">{escape(heading)}, {len(made)}</th></tr>'
        yield f"<table><thead>{title}<tr>{head}</tr></thead><tbody>"
        yield from made
        yield "</tbody></table>"


def cell(words: str, of: str = "", kind: str = "") -> str:
    """Return an HTML cell with its text, column and class.

    Phones show the column name in the cell, because they omit the table head.
    """
    said = (f' class="{kind}"' if kind else "") + (f' data-of="{escape(of)}"' if of else "")
    return f"<td{said}>{escape(words)}</td>"
