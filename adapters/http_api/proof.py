"""How a request proves who asks: the connection's credential, and a signed assertion of who calls."""

import base64
from collections.abc import Mapping

from adapters.base import AdapterError, Invocation, Secret
from adapters.http_api.accounts import Account, account_of
from adapters.transport.authorisation import header_text, needs_authorisation

ASSERTION_HEADER = "Tollhouse-Assertion"
_NO_WAY = (
    "The connection has a credential and does not say how it is sent; its operator has to set `auth` in its options."
)
_NO_CREDENTIAL = (
    "The service is to be told who asks and the connection has no credential; its operator has to give it one."
)


class Proof:
    """What goes into headers, for every request anew."""

    async def headers(self, invocation: Invocation) -> Mapping[str, str]:
        """The headers. Raises `AdapterError`: needs_authorisation for a credential that is missing, is not wanted, or
        cannot stand where it has to; what making the assertion raises.
        """
        headers = _credential(invocation, account_of(invocation.target))
        if not invocation.target.audience:
            return headers
        return {**headers, ASSERTION_HEADER: header_text(await invocation.assertion())}

    async def renewed(self, _invocation: Invocation, _refused: Mapping[str, str]) -> None:
        """There is no other."""


def check_credential(invocation: Invocation, account: Account) -> None:
    """Nothing when there is a credential exactly where there is a way to send it. Raises `AdapterError` else."""
    if account.auth is None and invocation.credential is not None:
        raise needs_authorisation(_NO_WAY)
    if account.auth is not None and invocation.credential is None:
        raise needs_authorisation(_NO_CREDENTIAL)


def query_of(invocation: Invocation, account: Account) -> Mapping[str, str]:
    """The parameter that holds the credential, where it goes into the query. Raises `AdapterError`."""
    if account.auth is None or account.auth.kind != "query":
        return {}
    return {account.auth.name: header_text(invocation.credential)}


def told_again(error: AdapterError) -> AdapterError:
    """The same error with nothing behind it: what a library raised may hold the URL, and that the credential."""
    return AdapterError(
        error.kind,
        error.message,
        happened=error.happened,
        fault=error.fault,
        retry_after_seconds=error.retry_after_seconds,
        attempts=error.attempts,
    )


def _credential(invocation: Invocation, account: Account) -> dict[str, str]:
    check_credential(invocation, account)
    auth = account.auth
    match auth.kind if auth is not None else "":
        case "bearer":
            return {"Authorization": f"Bearer {header_text(invocation.credential)}"}
        case "basic":
            return {"Authorization": f"Basic {base64.b64encode(_pair(invocation)).decode()}"}
        case "header" if auth is not None:
            return {auth.name: auth.form.replace("{}", header_text(invocation.credential))}
    return {}


def _pair(invocation: Invocation) -> bytes:
    """NAME:PASSWORD, whose password is as secret as the whole."""
    pair = "" if invocation.credential is None else invocation.credential.reveal()
    name, _, password = pair.partition(":")
    if not name or not password or not pair.isprintable():
        raise needs_authorisation()
    invocation.learn(Secret(password))
    return pair.encode()
