"""The process that opens a page, as far as it goes without a browser."""

import asyncio
import io
import json
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

from adapters.web.extraction import LENGTH
from adapters.web.photographer import SWITCHES, _milliseconds, _reason, main, taken


def answered(wanted: dict[str, object]) -> list[bytes]:
    """The frames that come back."""
    question = json.dumps(wanted).encode()
    sink = io.BytesIO()
    main(io.BytesIO(LENGTH.pack(len(question)) + question), sink)
    sink.seek(0)
    frames = []
    while head := sink.read(LENGTH.size):
        frames.append(sink.read(LENGTH.unpack(head)[0]))
    return frames


def test_without_playwright_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is imported before it is asked."""
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    assert answered({"url": "http://x.example/", "seconds": 9.0}) == [b'{"failed": "not_installed"}', b""]


def test_nothing_leads_past_the_proxy() -> None:
    """Names are not looked up, and what is no HTTP is switched off."""
    assert "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1" in SWITCHES
    assert "--force-webrtc-ip-handling-policy=disable_non_proxied_udp" in SWITCHES
    assert {"--disable-quic", "--dns-prefetch-disable", "--disable-background-networking"} <= set(SWITCHES)
    assert not [switch for switch in SWITCHES if "sandbox" in switch or "web-security" in switch]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("Page.goto: net::ERR_CERT_DATE_INVALID at https://x/", "ERR_CERT_DATE_INVALID"),
        ("Page.goto: Download is starting", "download"),
        ("Page.goto: Timeout 1000ms exceeded.", "timeout"),
        ("Target crashed", "page"),
        ("net::ERR_" + "A" * 200, "ERR_" + "A" * 60),
    ],
)
def test_what_goes_wrong_has_a_short_name(message: str, reason: str) -> None:
    """Nothing else of what a library says is told."""
    assert _reason(message) == reason


def test_no_time_is_not_endless_time() -> None:
    """Which 0 would mean."""
    assert _milliseconds(-5.0) == 50.0
    assert _milliseconds(2.0) == 2000.0


class Unwell(Exception):  # noqa: N818 - it stands in for playwright's `Error`
    """What a browser says that does not want to."""


class Late(Unwell):
    """What takes too long."""


class Page:
    """One that is at these URLs in turn, and at the last one from then on."""

    def __init__(self, *urls: str) -> None:
        self._urls = list(urls)

    @property
    def url(self) -> str:
        """Where it is when somebody looks."""
        return self._urls.pop(0) if len(self._urls) > 1 else self._urls[0]

    async def goto(self, _url: str, **_more: Any) -> SimpleNamespace:
        """The first answer."""
        return SimpleNamespace(status=200)

    async def wait_for_load_state(self, _state: str, **_more: Any) -> None:
        """It is loaded."""

    async def screenshot(self, **_more: Any) -> bytes:
        """A picture."""
        return b"PNG"

    async def title(self) -> str:
        """Its title."""
        return "A page"


class Browser:
    """Has one page, and may not want to be closed. It is the driver that starts it as well."""

    def __init__(self, page: Page, closing: Exception | None = None) -> None:
        self._page, self._closing = page, closing
        self.chromium = SimpleNamespace(launch=self._itself)

    async def _itself(self, **_more: Any) -> "Browser":
        return self

    new_context = _itself

    async def new_page(self) -> Page:
        """The page."""
        return self._page

    async def close(self) -> None:
        """Not always."""
        if self._closing is not None:
            raise self._closing

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is held."""


WANTED = {
    "url": "http://x.example/",
    "seconds": 20.0,
    "width": 800,
    "height": 600,
    "user_agent": "a",
    "browser": "/b",
    "has_sandbox": True,
    "proxy_port": 1,
    "proxy_user": "u",
    "proxy_password": "p",
}


async def pictured(monkeypatch: pytest.MonkeyPatch, browser: Browser) -> tuple[dict[str, Any], bytes]:
    """What this browser brings."""
    module = SimpleNamespace(Error=Unwell, TimeoutError=Late, async_playwright=lambda: browser)
    monkeypatch.setitem(sys.modules, "playwright.async_api", module)
    monkeypatch.setattr("adapters.web.photographer._MOMENT_SECONDS", 0.0)
    return await taken(WANTED)


@pytest.mark.parametrize("closing", [Unwell("Target closed"), TimeoutError()])
async def test_a_browser_that_does_not_want_to_be_closed_has_brought_its_picture(
    monkeypatch: pytest.MonkeyPatch, closing: Exception
) -> None:
    """It is ended from outside."""
    told, picture = await pictured(monkeypatch, Browser(Page("http://x.example/"), closing))
    assert (told["title"], picture) == ("A page", b"PNG")


async def test_a_page_does_not_pass_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that moves elsewhere while its picture is taken is taken again; one that never rests is not shown."""
    moved = Page("http://x.example/", *["https://bank.example/"] * 2)
    assert (await pictured(monkeypatch, Browser(moved)))[0]["url"] == "https://bank.example/"
    restless = Page(*["http://x.example/", "https://bank.example/"] * 3)
    assert await pictured(monkeypatch, Browser(restless)) == ({"failed": "page"}, b"")


async def test_it_ends_by_itself_when_nobody_is_left_to_end_it(tmp_path: Path) -> None:
    """Whatever the browser does: a gateway that was killed does not leave it running."""
    (tmp_path / "playwright").mkdir()
    hangs = "import time\nclass Error(Exception): ...\ndef async_playwright(): time.sleep(60)\n"
    (tmp_path / "playwright" / "async_api.py").write_text(hangs)
    root = str(Path(__file__).parents[4])
    question = json.dumps({**WANTED, "seconds": -4.0}).encode()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "adapters.web.photographer"),
        stdin=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), root])},
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(LENGTH.pack(len(question)) + question)
    assert await asyncio.wait_for(process.wait(), 20) == -signal.SIGALRM
