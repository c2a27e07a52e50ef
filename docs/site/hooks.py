"""What mkdocs does for the site beside its plugins: pages made of other files, and formulas as MathML.

* ``contributing.md`` and ``changelog.md`` are the files at the top of the repository, with links that fit.
* ``api/*.md`` has the docstrings of the public names, a page for every section of ``python.md``.
* ``json-keys.md`` lists every key of ``--json``, from the schemas.
* ``notebook.md`` is ``notebook.ipynb``, with the outputs that it has.
* Formulas, between ``$`` or ``$$``, become MathML while the site is built, so that no page needs a script for them.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
_ROLE = re.compile(r":(?:class|func|meth|data|attr|mod|exc):<code>~?([^<]*)</code>")
_FORMULA = re.compile(r'<(span|div) class="arithmatex">(?:\\\((.*?)\\\)|\\\[(.*?)\\\])</\1>', re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of the API in the navigation."""
    nav: list[Any] = config.nav or []
    section = next(entry["Python"] for entry in nav if isinstance(entry, dict) and "Python" in entry)
    section += [{title: path} for title, path, _ in api_pages() if {title: path} not in section]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of other files."""
    made = {"contributing.md": _from_the_top("CONTRIBUTING.md"), "changelog.md": _from_the_top("CHANGELOG.md")}
    made |= {path: content for _, path, content in api_pages()}
    made["json-keys.md"] = json_keys_page()
    made["notebook.md"] = notebook_page(ROOT / "docs" / "notebook.ipynb")
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_content(content: str, **_: object) -> str:
    """Turn formulas into MathML, and roles of docstrings into code."""
    return _FORMULA.sub(_mathml, _ROLE.sub(r"<code>\1</code>", content))


def _mathml(match: re.Match[str]) -> str:
    block = match[3] is not None
    formula = convert(html.unescape(match[3] if block else match[2]), display="block" if block else "inline")
    return f'<div class="formula">{formula}</div>' if block else formula


def _from_the_top(name: str) -> str:
    """Return a file of the top folder as a page, with links as they are from docs/."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.sub(r"\]\(docs/", "](", text)


def json_keys_page() -> str:
    """Return the keys of all documents, from their schemas."""
    from topodesign.report.schemas.outline import reference_page  # noqa: PLC0415  not for the other hooks

    return reference_page()


def notebook_page(path: Path) -> str:
    """Return a notebook with its outputs as a page, tables and pictures included."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_shown(output) for output in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def _shown(output: dict[str, Any]) -> str:
    """Return the output of a cell as HTML."""
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text'])}\n```"
    shown = "".join(output["data"].get("text/html", []))
    if not shown:
        return f"```text\n{''.join(output['data']['text/plain'])}\n```"
    kind = "picture" if shown.lstrip().startswith("<svg") else "output"
    one_block = re.sub(r"\n\s*\n", "\n", shown)
    return f'<div class="{kind}">\n{one_block}\n</div>'


def api_pages() -> list[tuple[str, str, str]]:
    """Return title, path and content of a page for every section of python.md: the docstrings of the names there."""
    import topodesign  # noqa: PLC0415  only its list of names

    pages, met = [], {"__version__"}
    for part in re.split(r"^## ", (ROOT / "docs" / "python.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        told = [name for name in re.findall(r"`(\w+)\b[^`]*`", body) if name in topodesign.__all__ and name not in met]
        names = list(dict.fromkeys(told))
        met |= set(names)
        if names:
            path = f"api/{re.sub(r'[^a-z]+', '-', title.lower())}.md"
            blocks = [f"::: topodesign.{name}" for name in names]
            pages.append((f"API: {title.lower()}", path, "\n\n".join([f"# {title}", *blocks]) + "\n"))
    if missing := set(topodesign.__all__) - met:
        raise ValueError(f"docs/python.md lacks {', '.join(sorted(missing))}")
    return pages
