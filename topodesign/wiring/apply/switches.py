"""What a circuit switch can be asked, how that can fail, and how its address is written."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from topodesign.base.arguments import as_text
from topodesign.base.doors import DRIVERS
from topodesign.base.errors import ParameterError, TopodesignError
from topodesign.wiring.exports.switch_commands import Pair, Spelling

PASSWORD = "TOPODESIGN_SWITCH_PASSWORD"  # noqa: S105  the name of a variable
"""Variable of the environment that a password is taken from where no key fits."""

SCHEMES = {"scpi": 5025, "sonic": 22}
"""Protocols and their usual ports."""


class SwitchError(TopodesignError):
    """A switch cannot be reached, or does not do what it is asked to."""


class NoAnswerError(SwitchError):
    """No answer, or none that makes sense: whether a command took effect is not known."""


class RefusedError(SwitchError):
    """The switch says that it does not do it; a part of it may have taken effect."""


class Reading(NamedTuple):
    """What a switch says of itself.

    Attributes
    ----------
    circuits
        Those that are there.
    unlit
        Those of them that it says are not tuned, or not yet.
    """

    circuits: frozenset[Pair]
    unlit: frozenset[Pair] = frozenset()


class Switch(Protocol):
    """A connection to a circuit switch; every call raises NoAnswerError or RefusedError where it fails."""

    @property
    def portion(self) -> int:
        """Circuits that it takes in one command."""

    def connect(self) -> None:
        """Connect if there is no connection."""

    def read(self) -> Reading:
        """Return what circuits there are."""

    def remove(self, pairs: Collection[Pair]) -> None:
        """Remove circuits that are there, in one command."""

    def add(self, pairs: Collection[Pair]) -> None:
        """Make circuits between ports that are free, in one command."""

    def close(self) -> None:
        """End the connection, if there is one; never fails."""


@dataclass(frozen=True)
class Access:
    """How switches are reached.

    Attributes
    ----------
    timeout
        Seconds to wait for a connection or an answer.
    spelling
        Of SONiC's commands.
    known_hosts
        File with the keys of SONiC switches; None for that of the user.
    environment
        Where passwords are taken from.
    """

    timeout: float = 10.0
    spelling: Spelling = "ocs"
    known_hosts: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)


@dataclass(frozen=True)
class Address:
    """Where a switch is: protocol, user, machine and port."""

    scheme: str
    user: str | None
    host: str
    port: int

    def __str__(self) -> str:
        """Return it as it is written."""
        user = "" if self.user is None else f"{self.user}@"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{user}{host}:{self.port}"


def as_address(text: str) -> Address:
    """Return the address that a text such as ``scpi://10.0.0.5`` or ``sonic://admin@ocs2:22`` is.

    Raises
    ------
    ParameterError
        If it is none, or has a password in it.
    """
    try:
        parts = urlsplit(as_text("an address", text))
        host, port = parts.hostname, parts.port
    except ValueError:
        parts = urlsplit("")
        host = port = None
    if parts.password is not None:
        raise ParameterError(f"a password does not belong into an address; use a key, or set {PASSWORD}")
    if (
        not (parts.scheme in SCHEMES or parts.scheme in DRIVERS)
        or not host
        or parts.path.strip("/")
        or parts.query
        or parts.fragment
    ):
        raise ParameterError(
            f"'{text[:80]}' is not the address of a switch, such as scpi://10.0.0.5 or sonic://admin@ocs2"
        )
    if parts.scheme == "scpi" and parts.username is not None:
        raise ParameterError("scpi knows no users; write scpi://HOST or scpi://HOST:PORT")
    usual = SCHEMES[parts.scheme] if parts.scheme in SCHEMES else int(DRIVERS[parts.scheme].port)
    return Address(parts.scheme, parts.username, host, port or usual)
