"""Agreeing with a server on a revision of MCP, and on nothing else: no ability of a client is offered.

The handshake comes first: nearly every server has it, and one that does not know the question what it speaks may stay
silent. A server that knows only the stateless revision has to refuse it, and is then asked what it speaks
(`server/discover`).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.mcp_upstream import failures
from adapters.mcp_upstream.base import Server
from adapters.mcp_upstream.rpc import Answer, text

HANDSHAKES = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Revisions that begin with a handshake, newest first."""
STATELESS = "2026-07-28"
CLIENT = {"name": "tollhouse", "version": "0.1"}
_META = "io.modelcontextprotocol/"
_SERVER_INFO = f"{_META}serverInfo"
ENVELOPE: Mapping[str, Any] = {
    f"{_META}protocolVersion": STATELESS,
    f"{_META}clientInfo": CLIENT,
    f"{_META}clientCapabilities": {},
}
"""What every request of the stateless revision says of itself."""

Asks = Callable[[str, Mapping[str, Any]], Awaitable[Answer]]
"""Asks a method with parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """What both speak."""

    server: Server
    is_stateless: bool


async def agree(asks: Asks, asks_stateless: Asks) -> Agreed:
    """What the server and we agree on. Raises `AdapterError`: nothing was called."""
    params = {"protocolVersion": HANDSHAKES[0], "capabilities": {}, "clientInfo": CLIENT}
    refused: AdapterError | None = None
    try:
        answer = await asks("initialize", params)
        if answer.result is not None:
            return _shaken(answer.result)
    except AdapterError as error:
        if error.kind not in (ErrorKind.INVALID, ErrorKind.NOT_FOUND):  # HTTP 400, 404, 405: so a server may refuse it
            raise
        refused = error
    answer = await asks_stateless("server/discover", {})
    if answer.result is None:
        raise refused or _no_revision()
    return _discovered(answer.result)


def _shaken(result: Mapping[str, Any]) -> Agreed:
    protocol = text(result.get("protocolVersion"))
    if protocol not in HANDSHAKES:
        raise _no_revision()
    return Agreed(server=_server(result.get("serverInfo"), protocol), is_stateless=False)


def _discovered(result: Mapping[str, Any]) -> Agreed:
    versions, meta = result.get("supportedVersions"), result.get("_meta")
    if not isinstance(versions, list):
        raise failures.unreadable(has_effect=False)
    if STATELESS not in versions:
        raise _no_revision()
    info = meta.get(_SERVER_INFO) if isinstance(meta, dict) else None
    return Agreed(server=_server(info, STATELESS), is_stateless=True)


def _server(info: object, protocol: str) -> Server:
    known = info if isinstance(info, dict) else {}
    return Server(name=text(known.get("name")), version=text(known.get("version")), protocol=protocol)


def _no_revision() -> AdapterError:
    message = "The upstream server speaks no revision of MCP that the gateway speaks; its operator has to look."
    return AdapterError(ErrorKind.MALFORMED, message, happened=Happened.NO, fault=Fault.MALFORMED)
