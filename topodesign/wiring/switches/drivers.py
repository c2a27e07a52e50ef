"""The kinds of circuit switches that there are, and their addresses."""

from __future__ import annotations

from urllib.parse import urlsplit

from topodesign.base import doors
from topodesign.base.arguments import as_text
from topodesign.base.doors import declared_in
from topodesign.base.errors import ParameterError
from topodesign.wiring.switches import kinds
from topodesign.wiring.switches.switch import PASSWORD, Address, Driver

DRIVERS: dict[str, Driver] = {driver.name: driver for driver in declared_in(kinds.__name__, "DRIVER", kinds.FORMATS)}
"""By name: what each module of ``kinds`` declares as its ``DRIVER``."""


def as_address(text: str) -> Address:
    """Return the address that a text such as ``scpi://10.0.0.5`` or ``sonic://admin@ocs2:22`` is."""
    try:
        parts = urlsplit(as_text("an address", text))
        host, port = parts.hostname, parts.port
    except ValueError:
        parts = urlsplit("")
        host = port = None
    if parts.password is not None:
        raise ParameterError(f"a password does not belong into an address; use a key, or set {PASSWORD}")
    driver = doors.DRIVERS.get(parts.scheme)
    if driver is None or not host or parts.path.strip("/") or parts.query or parts.fragment:
        raise ParameterError(
            f"'{text[:80]}' is not the address of a switch, such as scpi://10.0.0.5 or sonic://admin@ocs2"
        )
    if not driver.users and parts.username is not None:
        raise ParameterError(f"{driver.name} knows no users; write {driver.name}://HOST or {driver.name}://HOST:PORT")
    return Address(driver.name, parts.username, host, port or driver.port)
