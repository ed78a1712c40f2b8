"""How a request proves who asks."""

import base64
from collections.abc import Callable, Mapping
from typing import Protocol

from adapters.base import AdapterError, ErrorKind, Happened, Invocation, Secret

_NEEDED = "The connection's credential cannot be used here; its operator has to authorise the connection again."


class Authorises(Protocol):
    """Makes the headers that prove who asks, for every request anew."""

    async def headers(self, invocation: Invocation) -> Mapping[str, str]:
        """The headers. The invocation learns whatever is secret in them. Raises `AdapterError`."""
        ...

    async def renewed(self, invocation: Invocation, refused: Mapping[str, str]) -> Mapping[str, str] | None:
        """Other headers in place of some that the vendor has just refused; None when there are no others."""
        ...


class Bearer:
    """The credential itself, as it stands, in one header."""

    def __init__(self, header: str = "Authorization", form: str = "Bearer {}") -> None:
        self._header = header
        self._form = form

    async def headers(self, invocation: Invocation) -> Mapping[str, str]:
        """One header. Raises `AdapterError` (needs_authorisation) for what cannot stand in one."""
        return {self._header: self._form.format(header_text(invocation.credential))}

    async def renewed(self, _invocation: Invocation, _refused: Mapping[str, str]) -> None:
        """There is no other."""


class Basic:
    """The credential as the password, or the name, of HTTP's basic authentication (RFC 7617)."""

    def __init__(self, pair: Callable[[str], str] = "{}:".format) -> None:
        """`pair` makes `NAME:PASSWORD` of the credential."""
        self._pair = pair

    async def headers(self, invocation: Invocation) -> Mapping[str, str]:
        """One header. Raises `AdapterError` (needs_authorisation) for what cannot stand in one."""
        pair = self._pair(header_text(invocation.credential))
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}

    async def renewed(self, _invocation: Invocation, _refused: Mapping[str, str]) -> None:
        """There is no other."""


class WhenGiven:
    """One way of proof where the connection has a credential, and none where it has not: a server may ask for none."""

    def __init__(self, way: Authorises) -> None:
        self._way = way

    async def headers(self, invocation: Invocation) -> Mapping[str, str]:
        """The way's headers, or none. Raises `AdapterError`."""
        return {} if invocation.credential is None else await self._way.headers(invocation)

    async def renewed(self, invocation: Invocation, refused: Mapping[str, str]) -> Mapping[str, str] | None:
        """The way's other headers, if it has others."""
        return None if invocation.credential is None else await self._way.renewed(invocation, refused)


def header_text(secret: Secret | None) -> str:
    """The secret, if it can stand in a header as it is. Raises `AdapterError` (needs_authorisation) else."""
    value = "" if secret is None else secret.reveal()
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        raise needs_authorisation()
    return value


def needs_authorisation(message: str = _NEEDED) -> AdapterError:
    """The account cannot be used until a person has authorised it again. Nothing was sent."""
    return AdapterError(ErrorKind.NEEDS_AUTHORISATION, message, happened=Happened.NO)
