"""The documentation site: it is built from what is here alone, whole, and its pages ask nobody for anything."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.pages import PAGES, ROOT

NEEDED = ("mkdocs", "material", "mkdocstrings", "latex2mathml")
LOADED = {"src", "srcset", "data", "poster", "xlink:href"}
"""Attributes that a browser loads what they name for; ``href`` too, but for links that somebody has to click."""


class Loads(HTMLParser):
    """What a page loads by itself, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: set[str] = set()
        self.links: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "href" and tag == "a":
                self.links.add(value or "")
            elif name in LOADED or name == "href":
                self.loads.add(value or "")
            elif name == "style":
                self.loads |= set(urls(value or ""))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def urls(style: str) -> list[str]:
    """What a style sheet loads."""
    return re.findall(r"""url\(["']?([^"')]+)""", style) + re.findall(r"""@import\s+["']([^"']+)""", style)


def is_outside(target: str) -> bool:
    return bool(urlsplit(target).netloc) or urlsplit(target).scheme not in {"", "data"}


def is_there(target: str, page: Path) -> bool:
    """Whether a file of the site is what a page names; empty ones are the page itself."""
    path = unquote(urlsplit(target).path)
    return not path or (page.parent / path).exists()


@pytest.mark.dear
@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, NEEDED)), reason="the site needs pip install 'topodesign[docs]'"
)
def test_the_site_is_whole_and_asks_nobody_for_anything(tmp_path: Path) -> None:
    """A page that is missing and a link that leads nowhere end the build, which is strict."""
    site = tmp_path / "site"
    offline = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=ROOT,
        env=os.environ | offline | {"PYTHONPATH": str(ROOT)},
        text=True,
        capture_output=True,
        timeout=600,
        check=False,
    )
    assert not done.returncode, done.stdout + done.stderr
    pages = {path.relative_to(site).as_posix(): path for path in site.rglob("*.html")}
    written = {page.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for page in PAGES[1:]}
    assert (
        written | {"contributing.html", "changelog.html", "notebook.html", "json-keys.html", "api/wiring.html"}
        <= pages.keys()
    )
    for name, path in pages.items():
        text = path.read_text(encoding="utf-8")
        seen = Loads()
        seen.feed(text)
        outside = sorted(filter(is_outside, seen.loads))
        assert not outside, f"{name} loads {outside}"
        if name != "404.html":  # that one is asked for under any address
            lost = sorted(one for one in seen.loads | seen.links if not is_outside(one) and not is_there(one, path))
            assert not lost, f"{name} leads to {lost}"
        assert "arithmatex" not in text, f"{name} has a formula that is none"
        assert not any(word.lstrip().startswith("::: ") for word in seen.words), f"{name} lacks a docstring"
        assert text.count("<math") == text.count("</math>")
    for sheet in site.rglob("*.css"):
        assert not list(filter(is_outside, urls(sheet.read_text(encoding="utf-8")))), sheet.name
    for name in ("topologies", "flows", "time"):
        assert pages[f"theory/{name}.html"].read_text(encoding="utf-8").count("<math") >= 5
    shown = pages["notebook.html"].read_text(encoding="utf-8")
    assert shown.count('class="picture"') >= 4
    assert shown.count('class="output"') >= 4
    assert "Traceback" not in shown
