"""A process that opens one page in Chromium and takes its picture, started and ended by `adapters.web.screenshot`.

On standard input stands one frame, a length of four bytes and JSON (`Wanted`'s fields); on standard output two, JSON
and the PNG. `{"failed": CODE}` alone says why there is none: `not_installed`, `browser`, `download`, `timeout`, `page`,
or what Chromium calls it (`ERR_…`).

The page can reach the proxy that it is given and nothing else: no name is looked up here, and what does not go through
a proxy (QUIC, WebRTC over UDP, prefetching of names, what Chromium does for itself) is switched off.
"""

import asyncio
import json
import re
import resource
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from adapters.web.extraction import LENGTH

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page, Playwright, Response

SWITCHES = (
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--no-pings",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--renderer-process-limit=4",
    "--js-flags=--max-old-space-size=512",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-first-run",
)
_ERROR = re.compile(r"net::(ERR_[A-Z0-9_]{1,60})")
_SAID = {"Download is starting": "download", "Timeout": "timeout"}
_MAX_TITLE = 300
_SHOT_SECONDS = 5.0
"""Kept back of the call's time for the picture itself."""
_MOMENT_SECONDS = 0.3
_CLOSED_SECONDS = 3.0
_GRACE_SECONDS = 5
_MAX_PICTURES = 3


def main(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer one frame."""
    wanted = json.loads(source.read(LENGTH.unpack(source.read(LENGTH.size))[0]))
    signal.alarm(int(wanted["seconds"]) + _GRACE_SECONDS)  # nobody is left to end this when the gateway was killed
    try:
        told, picture = asyncio.run(taken(wanted))
        sink.writelines(LENGTH.pack(len(frame)) + frame for frame in (json.dumps(told).encode(), picture))
        sink.flush()
    finally:
        signal.alarm(0)


async def taken(wanted: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """What is to be said of the page, and its picture; why there is none, and nothing."""
    end = time.monotonic() + wanted["seconds"] - _SHOT_SECONDS  # starting the browser takes of the same time
    try:
        from playwright.async_api import Error, async_playwright  # noqa: PLC0415 - an optional part
    except ImportError:
        return {"failed": "not_installed"}, b""
    async with async_playwright() as playwright:
        try:
            browser = await _browser(playwright, wanted)
        except Error:
            return {"failed": "browser"}, b""
        try:
            return await _pictured(browser, wanted, end)
        except Error as error:
            return {"failed": _reason(str(error))}, b""
        finally:
            with suppress(Error, TimeoutError):  # it is ended from outside then; the picture is there
                async with asyncio.timeout(_CLOSED_SECONDS):
                    await browser.close()


async def _browser(playwright: "Playwright", wanted: dict[str, Any]) -> "Browser":
    return await playwright.chromium.launch(
        executable_path=wanted["browser"],
        args=list(SWITCHES),
        chromium_sandbox=wanted["has_sandbox"],
        proxy={
            "server": f"http://127.0.0.1:{wanted['proxy_port']}",
            "username": wanted["proxy_user"],
            "password": wanted["proxy_password"],
        },
        timeout=_milliseconds(wanted["seconds"]),
    )


async def _pictured(browser: "Browser", wanted: dict[str, Any], end: float) -> tuple[dict[str, Any], bytes]:
    """By `end` the page is as it is. What is told of it is of the page in the picture: one that moves meanwhile, and
    so could pass for another, is not shown.
    """
    context = await _context(browser, wanted)
    page = await context.new_page()
    response = await page.goto(wanted["url"], wait_until="commit", timeout=_milliseconds(end - time.monotonic()))
    is_loaded = await _loaded(page, end)
    if not is_loaded:  # a picture waits for what is being loaded
        await (await context.new_cdp_session(page)).send("Page.stopLoading")
    for _ in range(_MAX_PICTURES):
        before = page.url
        picture = await page.screenshot(type="png", animations="disabled", timeout=_milliseconds(_SHOT_SECONDS))
        if _site(page.url) == _site(before):
            return await _told(page, response, is_loaded=is_loaded), picture
    return {"failed": "page"}, b""


def _site(url: str) -> str:
    return "/".join(url.split("/")[:3])


async def _context(browser: "Browser", wanted: dict[str, Any]) -> "BrowserContext":
    """A window of its own that keeps nothing, takes no downloads, and runs nothing that outlives its page."""
    return await browser.new_context(
        viewport={"width": wanted["width"], "height": wanted["height"]},
        device_scale_factor=1,
        accept_downloads=False,
        service_workers="block",
        user_agent=wanted["user_agent"],
        permissions=[],
    )


async def _loaded(page: "Page", end: float) -> bool:
    """Whether all of it came in time. What came until then is worth a picture too.

    What begins with the load (a script that draws, or leads elsewhere) is given a moment, and what it loads is waited
    for as well.
    """
    from playwright.async_api import TimeoutError as TooLate  # noqa: PLC0415 - an optional part

    try:
        await page.wait_for_load_state("load", timeout=_milliseconds(end - time.monotonic()))
        await asyncio.sleep(_MOMENT_SECONDS)
        await page.wait_for_load_state("load", timeout=_milliseconds(end - time.monotonic()))
    except TooLate:
        return False
    return True


async def _told(page: "Page", response: "Response | None", *, is_loaded: bool) -> dict[str, Any]:
    return {
        "url": page.url[:4096],
        "status": None if response is None else response.status,
        "title": (await page.title())[:_MAX_TITLE],
        "is_loaded": is_loaded,
    }


def _reason(message: str) -> str:
    """What Chromium calls it, or what playwright does."""
    found = _ERROR.search(message)
    if found:
        return found[1]
    return next((reason for said, reason in _SAID.items() if said in message), "page")


def _milliseconds(seconds: float) -> float:
    """For playwright, for which 0 is for ever."""
    return max(seconds, 0.05) * 1000


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash leaves no page on the disk
    main(sys.stdin.buffer, sys.stdout.buffer)
