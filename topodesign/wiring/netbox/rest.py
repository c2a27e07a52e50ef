"""Read-only NetBox access over REST with pynetbox, with limits.

Versions 4.5 and 4.6 say what is behind a front port as ``rear_ports``, those before as ``rear_port``; both are read. A
token (of either form that NetBox has) goes to the server asked and nowhere else: no redirect is followed, no page at
another address is asked for, no ``.netrc`` is looked at, and no message tells it.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from topodesign.base.errors import MissingLibraryError, ParameterError, TopodesignError
from topodesign.base.tables import plain_cell
from topodesign.wiring.netbox.model import CableEnd, FrontPort, NetboxCable, NetboxObjects, RearPort
from topodesign.wiring.netbox.tables import device_of, interface_of, rear_port_of

if TYPE_CHECKING:
    import requests

TOKEN = "NETBOX_TOKEN"  # noqa: S105  the name of a variable
"""The variable of the environment that has the token."""

PAGE = 500
MAX = 2**19  # objects of one kind that are read

_CONNECT = 10.0  # seconds
_ANSWER = 60.0  # seconds for a whole answer
_LARGEST = 2**28  # bytes of an answer
_PIECE = 2**16
_SHORTEST = 8  # letters of a token; less is in many words

_FIELDS = {
    "sites": "id,name,slug,comments",
    "racks": "id,name,site,comments",
    "devices": "id,name,role,site,rack,position,comments",
    "interfaces": "id,device,name,label,type,speed,mgmt_only,description",
    "rear_ports": "id,device,name,positions,mark_connected,description",
    "front_ports": "id,device,name,mark_connected,rear_ports,rear_port,rear_port_position",
    "cables": "id,label,status,profile,a_terminations,b_terminations",
}
"""What is asked of each kind of object."""


class NetboxError(TopodesignError):
    """Failure to reach or read a NetBox server."""


def is_address(source: object) -> bool:
    """Return whether a source is a server address, not a path."""
    return isinstance(source, str) and source.lower().startswith(("http://", "https://"))


def read_rest(address: str, token: str | None = None, *, site: str | None = None) -> NetboxObjects:
    """Read the NetBox objects of a site, or of all sites.

    The address is that of NetBox itself, without ``/api``; the token is that of the environment (:data:`TOKEN`) if
    None; the site is the name or slug of the only one to read.
    """
    with closing(_Server(address, token)) as server:
        return _read(server, site)


def _read(server: _Server, site: str | None) -> NetboxObjects:
    sites = server.read("sites", lambda one: (one["id"], one["name"], one["slug"], one["comments"] or ""))
    chosen = [one for one in sites if site is None or site in one[1:3]]
    if not chosen:
        known = ", ".join(sorted(name for _, name, _, _ in sites)[:20]) or "none"
        raise ParameterError(f"NetBox has no site {site!r}; sites there are: {known}")
    which = {} if site is None else {"site_id": [number for number, *_ in chosen]}
    rears: dict[int, str] = {}
    return NetboxObjects(
        {name: comments for _, name, _, comments in chosen},
        dict(
            server.read(
                "racks",
                lambda one: ((_format_value(one["site"]), _format_value(one["name"])), _format_value(one["comments"])),
                **which,
            )
        ),
        tuple(device_of(row) for row in server.read("devices", _rows("devices"), **which) if row["name"]),
        tuple(map(interface_of, server.read("interfaces", _rows("interfaces"), **which))),
        server.read("rear_ports", lambda one: _rear_port(one, rears), **which),
        server.read("front_ports", lambda one: _front_port(one, rears), **which),
        server.read("cables", _cable, **which),
    )


def read_rest_cables(address: str, token: str | None = None) -> tuple[NetboxCable, ...]:
    """Read all cables; parameters and errors are those of :func:`read_rest`."""
    with closing(_Server(address, token)) as server:
        return server.read("cables", _cable)


class _Server:
    """NetBox server whose errors become messages with advice."""

    def __init__(self, address: str, token: str | None) -> None:
        parts = urlsplit(address)
        if not is_address(address) or not parts.hostname or parts.username or parts.query or parts.fragment:
            raise ParameterError("the address of NetBox is like https://netbox.example, without user, ? and #")
        token = os.environ.get(TOKEN, "") if token is None else token
        if not token:
            raise ParameterError(f"NetBox wants a token that may read dcim; put it into the variable {TOKEN}")
        if not (token.isascii() and token.isprintable() and " " not in token):
            raise ParameterError("the token has characters that no token of NetBox has; was it copied whole?")
        try:
            import pynetbox  # noqa: PLC0415  optional
        except ImportError as error:
            words = "reading NetBox needs pynetbox: pip install 'topodesign[netbox]'"
            raise MissingLibraryError(words) from error
        self.host = parts.netloc
        self.token = token
        base = address.rstrip("/").removesuffix("/api")
        self.api = pynetbox.api(base, token=token)
        self.pages = [1]  # that may be asked for still
        self.api.http_session = _session(f"{base}/api/", self.pages)

    def close(self) -> None:
        """Close all connections now, instead of at garbage collection."""
        session = self.api.http_session
        for adapter in session.adapters.values():
            for key in adapter.poolmanager.pools.keys():  # noqa: SIM118  it has no iterator
                adapter.poolmanager.pools[key].close()
        session.close()

    def read(self, kind: str, make: Callable[[Mapping[str, Any]], Any], **which: Any) -> tuple[Any, ...]:
        """Return the parsed objects of a kind, in order of ID."""
        import pynetbox  # noqa: PLC0415  optional
        import requests  # noqa: PLC0415  optional
        import urllib3  # noqa: PLC0415  optional

        try:
            return tuple(self._make_objects(kind, make, which))
        except pynetbox.RequestError as error:
            self._refuse(error.req.status_code)
        except (pynetbox.ContentError, requests.exceptions.JSONDecodeError):
            self._fail("does not answer as NetBox does; is this its address?")
        except requests.exceptions.SSLError as error:
            reason = _reason(error)
            advice = "does it answer http:// only?"
            if "certificate" in reason.lower():
                advice = "for an authority of your own, name its file in the variable REQUESTS_CA_BUNDLE"
            self._fail(f"cannot be read over TLS ({reason}); {advice}")
        except (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError, TimeoutError):
            self._fail(f"did not answer in time ({_CONNECT:g} s to connect, {_ANSWER:g} s for an answer)")
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            self._fail(f"cannot be read: {_reason(error)}")
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            self._fail(f"tells {kind.replace('_', ' ')} in another shape than NetBox 4 does")

    def _make_objects(
        self, kind: str, make: Callable[[Mapping[str, Any]], Any], which: dict[str, Any]
    ) -> Iterator[Any]:
        found = getattr(self.api.dcim, kind).filter(limit=PAGE, ordering="id", fields=_FIELDS[kind], **which)
        self.pages[0] = 1
        total = self.pages[0] = len(found)
        if total > MAX:
            self._fail(f"has {total} {kind.replace('_', ' ')}, more than {MAX}; read one site only")
        seen: set[int] = set()
        for count, one in enumerate(found):
            record = dict(one)
            seen.add(record["id"])
            if count >= total or len(seen) <= count:
                break
            yield make(record)
        else:
            if len(seen) == total:
                return
        self._fail(f"told of {total} {kind.replace('_', ' ')} and sent others; did somebody change it? ask again")

    def _refuse(self, status: int) -> NoReturn:
        reasons = {
            401: f"does not know the token; see the variable {TOKEN}",
            403: f"refuses the token: it is unknown, has ended, or may not read dcim; see the variable {TOKEN}",
            404: "has no REST API there; is this the address of NetBox, without /api?",
            429: "was asked too often; wait a while",
        }
        self._fail(reasons.get(status, f"refused with status {status}"))

    def _fail(self, words: str) -> NoReturn:
        hidden = words.replace(self.token, "***") if len(self.token) >= _SHORTEST else words
        raise NetboxError(f"{self.host} {hidden}") from None


def _reason(error: BaseException) -> str:
    """Return the innermost reason of an error, shortened."""
    while True:
        inner = getattr(error, "reason", None) or next((arg for arg in error.args if isinstance(arg, Exception)), None)
        if not isinstance(inner, Exception):
            break
        error = inner
    text = getattr(error, "strerror", None) or str(error).rpartition(": ")[2] or type(error).__name__
    return str(text)[:120]


def _session(base: str, pages: list[int]) -> requests.Session:
    """Return a session with limits on addresses, pages and time."""
    import requests  # noqa: PLC0415  optional

    class Session(requests.Session):
        def request(self, method: Any, url: Any, *args: Any, **kwargs: Any) -> requests.Response:
            if not str(url).startswith(base):
                raise requests.exceptions.InvalidURL("it points to another address for the next page")
            if pages[0] <= 0:
                raise requests.exceptions.InvalidURL("it has more pages than objects; is something between?")
            pages[0] -= 1
            kwargs |= {"timeout": (_CONNECT, _ANSWER), "allow_redirects": False, "stream": True}
            response = super().request(method, url, *args, **kwargs)
            with closing(response.raw) as raw:  # also what is not read to its end
                if response.is_redirect:
                    raise requests.exceptions.InvalidURL("it redirects to another address; give that one")
                response.raw = io.BytesIO(_whole(raw))
            return response

    session = Session()
    session.auth = lambda prepared: prepared  # so that no .netrc takes the place of the token
    return session


def _whole(raw: Any) -> bytes:
    """Return the body of an answer if it arrives in time."""
    end = time.monotonic() + _ANSWER
    body = bytearray()
    while piece := raw.read1(_PIECE, decode_content=True):
        body += piece
        if time.monotonic() > end:
            raise TimeoutError
        if len(body) > _LARGEST:
            raise OSError(f"an answer is larger than {_LARGEST} bytes")
    return bytes(body)


def _format_value(value: object) -> str:
    """Return a REST value as a table cell: name, value or empty."""
    if isinstance(value, Mapping):
        value = value["value"] if "value" in value else value["name"]
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float | None):
        raise TypeError
    return "" if value is None else plain_cell(str(value))


def _rows(kind: str) -> Callable[[Mapping[str, Any]], dict[str, str]]:
    """Return a converter from objects of a kind to table rows."""
    return lambda one: {name: _format_value(one[name]) for name in _FIELDS[kind].split(",")}


def _rear_port(one: Mapping[str, Any], rears: dict[int, str]) -> RearPort:
    found = rear_port_of(_rows("rear_ports")(one))
    rears[one["id"]] = found.name
    return found


def _front_port(one: Mapping[str, Any], rears: Mapping[int, str]) -> FrontPort:
    behind = one.get("rear_ports")
    if behind is None:
        rear = one["rear_port"]
        behind = [] if rear is None else [{"rear_port": rear["id"], "rear_port_position": one["rear_port_position"]}]
    pairs = tuple((rears[pair["rear_port"]], int(pair["rear_port_position"])) for pair in behind)
    return FrontPort(_format_value(one["device"]), _format_value(one["name"]), pairs, bool(one["mark_connected"]))


def _cable(one: Mapping[str, Any]) -> NetboxCable:
    a, b = (tuple(map(_end, one[f"{side}_terminations"])) for side in "ab")
    return NetboxCable(
        _format_value(one["label"]), _format_value(one["status"]), a, b, _format_value(one.get("profile"))
    )


def _end(one: Mapping[str, Any]) -> CableEnd:
    what = one["object"] or {}
    return CableEnd(
        _format_value(what.get("device")), _format_value(one["object_type"]), _format_value(what.get("name"))
    )
