"""Pictures of pages, taken by a browser that can reach what its proxy has checked and nothing else."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from typing import Any, NotRequired, TypedDict

from adapters.base import (
    AdapterError,
    ArgumentIssue,
    ArgumentProblem,
    Binary,
    Clock,
    ErrorKind,
    Fault,
    Happened,
    Invocation,
    Output,
    Target,
)
from adapters.transport.dialler import Dialler
from adapters.transport.urls import UrlProblem, canonical_url
from adapters.web.browser import NOT_STARTED, PHOTOGRAPHER, Picture, browser_of, no, not_installed, picture_of
from adapters.web.proxy import USER, PinningProxy, pinning_proxy

OPTIONS = ("browser", "browser_sandbox")
"""Of a connection: the browser's path, and whether Chromium's own sandbox is on (it is unless that is false)."""
WIDTHS, HEIGHTS = (320, 1920), (240, 2160)
DEFAULT_WIDTH, DEFAULT_HEIGHT = 1280, 800
_AT_ONCE = 2
_WAITING = 8
_MIN_SECONDS = 1.0
_PNG = b"\x89PNG\r\n\x1a\n"


class ScreenshotArguments(TypedDict):
    """What an agent sends to `screenshot`."""

    url: str
    width: NotRequired[int]
    height: NotRequired[int]


def prepare_screenshot(arguments: dict[str, Any]) -> dict[str, Any]:
    """The canonical URL with its parts, and the size of the window."""
    issues: list[ArgumentIssue] = []
    width = _bounded(arguments, "width", DEFAULT_WIDTH, WIDTHS, issues)
    height = _bounded(arguments, "height", DEFAULT_HEIGHT, HEIGHTS, issues)
    parts: dict[str, Any] = {}
    try:
        parts = canonical_url(arguments["url"]).as_arguments()
    except UrlProblem as problem:
        issues.append(ArgumentIssue(path="/url", rule=problem.rule, message=f"The URL {problem.message}."))
    if issues:
        raise ArgumentProblem(*issues)
    return {**parts, "width": width, "height": height}


def option_problems(target: Target) -> list[str]:
    """A sentence for each thing wrong with what a connection says of the browser."""
    problems = []
    browser = target.options.get("browser", "/usr/bin/chromium")
    if not isinstance(browser, str) or not browser.startswith("/") or not browser.isprintable():
        problems.append("options: browser must be the absolute path of a Chromium")
    if not isinstance(target.options.get("browser_sandbox", True), bool):
        problems.append("options: browser_sandbox must be true or false")
    return problems


class Screenshots:
    """The operation `screenshot`. Each picture has a process, a browser without a past, and a proxy of its own."""

    def __init__(
        self,
        clock: Clock,
        dialler: Dialler,
        user_agent: Callable[[Target], str],
        *,
        find: Callable[[Target], str] = browser_of,
        command: Sequence[str] = PHOTOGRAPHER,
        password: Callable[[], str] = secrets.token_urlsafe,
    ) -> None:
        """`find` says which browser is to be used; it raises `AdapterError` when there is none."""
        self._clock = clock
        self._dialler = dialler
        self._user_agent = user_agent
        self._find = find
        self._command = tuple(command)
        self._password = password
        self._places = _AT_ONCE + _WAITING
        self._browsers = asyncio.Semaphore(_AT_ONCE)

    async def invoke(self, invocation: Invocation) -> Output:
        """The picture as a PNG block. Raises `AdapterError`."""
        asked = invocation.arguments
        seconds = invocation.deadline - self._clock.monotonic()
        picture = await self._within(invocation, seconds)
        told = picture.told
        structured = {
            "url": canonical_url(told["url"]).text,
            "status": told.get("status") if isinstance(told.get("status"), int) else None,
            "title": str(told.get("title") or "")
            .encode("utf-8", "replace")
            .decode(),  # scripts make halves of characters
            "width": asked["width"],
            "height": asked["height"],
            "is_loaded": told.get("is_loaded") is True,
            "bytes": len(picture.png),
        }
        receipt = f"Took a picture of {asked['scheme']}://{asked['host']} ({len(picture.png):,} bytes)."
        block = Binary(mime_type="image/png", data=picture.png)
        return Output(structured=structured, content=(block,), receipt=receipt)

    async def _within(self, invocation: Invocation, seconds: float) -> Picture:
        if seconds <= 0:
            raise _too_late()
        if self._places == 0:
            raise no(ErrorKind.UNAVAILABLE, "Too many pictures are being taken at once; try again in a moment.")
        self._places -= 1
        try:
            async with asyncio.timeout(seconds):
                # Before a browser is begun: most of what is refused is refused here.
                await self._dialler.addresses(invocation.arguments["host"], invocation.arguments["port"])
                browser = self._find(invocation.target)
                async with self._browsers:
                    return await self._taken(invocation, browser)
        except TimeoutError as error:
            raise _too_late() from error
        except OSError as error:  # no port for the proxy, no room for the browser
            raise no(ErrorKind.UNAVAILABLE, NOT_STARTED) from error
        finally:
            self._places += 1

    async def _taken(self, invocation: Invocation, browser: str) -> Picture:
        password = self._password()
        async with pinning_proxy(self._dialler, invocation.target.hosts, password) as proxy:
            picture = await picture_of(self._command, self._wanted(invocation, browser, proxy))
            return _judged(picture, proxy)

    def _wanted(self, invocation: Invocation, browser: str, proxy: PinningProxy) -> dict[str, Any]:
        asked = invocation.arguments
        return {
            "url": asked["url"],
            "width": asked["width"],
            "height": asked["height"],
            "seconds": max(invocation.deadline - self._clock.monotonic() - _MIN_SECONDS, _MIN_SECONDS),
            "user_agent": self._user_agent(invocation.target),
            "browser": browser,
            "has_sandbox": invocation.target.options.get("browser_sandbox", True),
            "proxy_port": proxy.port,
            "proxy_user": USER,
            "proxy_password": proxy.password,
        }


def _judged(picture: Picture, proxy: PinningProxy) -> Picture:
    """The picture, when there is one. A browser that was kept from a page says less about why than its proxy."""
    if proxy.is_over:
        raise no(ErrorKind.TOO_LARGE, "The page loads more than can be taken; try a simpler one.")
    failed = picture.told.get("failed")
    if failed is not None:
        raise _why(str(failed), proxy)
    where = _origin(picture.told.get("url"))
    if where is None:  # a script has led it away from the web, or to where the proxy does not go
        raise _last(proxy) or no(*_UNSHOWN)
    refusal = proxy.problems.get(where)
    if refusal is not None and refusal.kind is ErrorKind.ADDRESS_REFUSED:
        raise refusal
    if not picture.png.startswith(_PNG):
        raise no(ErrorKind.MALFORMED, "The browser brought no picture.")
    return picture


def _why(failed: str, proxy: PinningProxy) -> AdapterError:
    # cases: 1. the proxy did not get there  2. there is no browser  3. the browser does not want to
    problem = _last(proxy) if failed in _PROXY_SAID_NO else None
    if problem is not None:
        return problem
    if failed == "not_installed":
        return not_installed()
    if failed == "timeout":
        return _too_late()
    is_about_tls = failed.startswith(("ERR_CERT_", "ERR_SSL_"))
    return no(*(_DISTRUSTED if is_about_tls else _FAILURES.get(failed, _UNSHOWN)))


def _last(proxy: PinningProxy) -> AdapterError | None:
    return next(reversed(proxy.problems.values()), None)


_PROXY_SAID_NO = frozenset({"ERR_TUNNEL_CONNECTION_FAILED", "ERR_HTTP_RESPONSE_CODE_FAILURE"})
_NOTHING = (ErrorKind.INVALID, "The URL leads to a file or to nothing that a browser shows; use web_fetch.")
_DISTRUSTED = (ErrorKind.UNAVAILABLE, "The site's TLS certificate or handshake cannot be trusted.")
_UNSHOWN = (ErrorKind.UNAVAILABLE, "The browser could not show the page; try again later.")
_FAILURES = {
    "browser": (ErrorKind.UNAVAILABLE, NOT_STARTED),
    "download": _NOTHING,
    "ERR_ABORTED": _NOTHING,
    "ERR_INVALID_AUTH_CREDENTIALS": (ErrorKind.FORBIDDEN, "The site wants a user name and a password."),
    "ERR_HTTP_RESPONSE_CODE_FAILURE": (ErrorKind.NOT_FOUND, "The site has nothing to show under this address."),
}


def _origin(url: object) -> tuple[str, int] | None:
    """The host and port of a plain URL; None of any other, such as that of Chromium's own page about an error."""
    try:
        found = canonical_url(str(url))
    except UrlProblem:
        return None
    return found.host, found.port


def _bounded(
    arguments: dict[str, Any], name: str, default: int, bounds: tuple[int, int], issues: list[ArgumentIssue]
) -> int:
    value = arguments.get(name, default)
    if not bounds[0] <= value <= bounds[1]:
        message = f"`{name}` must be from {bounds[0]} to {bounds[1]}."
        issues.append(ArgumentIssue(path=f"/{name}", rule="range", message=message))
    return int(value)


def _too_late() -> AdapterError:
    message = "The call's time was up before there was a picture."
    return AdapterError(ErrorKind.DEADLINE, message, happened=Happened.NO, fault=Fault.TIMEOUT)
