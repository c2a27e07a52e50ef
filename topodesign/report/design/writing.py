"""Request files with comments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Unpack

from topodesign.base.options import collect_options, takes
from topodesign.report.design.fields import RequestOptions
from topodesign.report.design.reading import request_of


@takes(RequestOptions)
def request_text(**fields: Unpack[RequestOptions]) -> str:
    """Return a checked request as the commented text of its file.

    Parameters
    ----------
    **fields
        As for :func:`topodesign.design`; what is text, numbers, mappings or lists of these.

    Raises
    ------
    ParameterError, UnitError, FileFormatError
        If a field is wrong, missing or unknown, or fields contradict each other.

    Examples
    --------
    >>> from topodesign import request_text
    >>> step = {"collectives": [{"collective": "allreduce", "size": "64MiB"}]}
    >>> print(request_text(nodes=12, degree=4, bandwidth="100Gbps", workload=step).splitlines()[1])
    nodes: 12
    """
    request_of(fields)
    return "".join(f"{line}\n" for line in _lines(fields))


def _lines(given: Mapping[str, Any]) -> Iterator[str]:
    for name, option in collect_options(RequestOptions).items():
        value = given.get(name)
        if value in (None, (), ""):
            continue
        yield f"# {option.about.split('  [')[0]}"
        yield f"{name}: {_flow(value)}"


def _flow(value: Any) -> str:
    """Return a value as YAML in one line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {_flow(one)}' for name, one in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_flow, value))}]"
    text = str(value)
    return text if re.fullmatch(r"[\w./@+-]+( [\w./@+-]+)*", text) else json.dumps(text)
