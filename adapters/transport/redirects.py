"""Redirects are followed by hand: every hop is read, judged and connected to like a first URL."""

from dataclasses import replace

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.transport.messages import Request
from adapters.transport.urls import UrlProblem, redirect_target

MAX_REDIRECTS = 5
STATUSES = frozenset({301, 302, 303, 307, 308})
_KEPT_HEADERS = frozenset({"accept", "accept-language", "user-agent"})


def redirected(request: Request, location: str, taken: int) -> Request:
    """The request for the next hop after `taken` ones, with no header that could be a credential.

    Raises `AdapterError` after five hops, for a target that is not a plain URL, and from https to http.
    """
    if taken >= MAX_REDIRECTS:
        raise _too_many_redirects()
    try:
        url = redirect_target(request.url, location)
    except UrlProblem as problem:
        raise _bad_redirect("The site redirects to something that is not a plain http or https URL.") from problem
    if request.url.scheme == "https" and url.scheme == "http":
        raise _bad_redirect("The site redirects from https to http, which is not followed.")
    headers = {name: value for name, value in request.headers.items() if name.lower() in _KEPT_HEADERS}
    return replace(request, url=url, headers=headers, body=None)


def check_host(request: Request) -> None:
    """Nothing when the connection's hosts, if it names any, hold this one. Raises `AdapterError`."""
    url = request.url
    shown = f"[{url.host}]" if ":" in url.host else url.host
    if request.hosts and not {url.host, shown, f"{shown}:{url.port}"}.intersection(request.hosts):
        raise AdapterError(
            ErrorKind.ADDRESS_REFUSED,
            "The URL's host is not among the hosts of this connection.",
            happened=Happened.NO,
        )


def _too_many_redirects() -> AdapterError:
    return AdapterError(
        ErrorKind.MALFORMED,
        f"The site redirects more than {MAX_REDIRECTS} times; use the final address.",
        happened=Happened.NO,
        fault=Fault.MALFORMED,
    )


def _bad_redirect(message: str) -> AdapterError:
    return AdapterError(ErrorKind.ADDRESS_REFUSED, message, happened=Happened.NO, fault=Fault.REFUSED)
