"""Pictures of pages, with a process in the browser's place; with Chromium see tests/vendors/servers/test_web.py."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import fakes.photographer
import pytest
from fakes.photographer import PNG
from fakes.web import INNER_FORMS, FakeWeb, inner_resolver, open_inner, open_web

from adapters.base import AdapterError, ArgumentProblem, Binary, ErrorKind, Fault, Happened, Invocation, Output, Target
from adapters.transport.dialler import Dialler
from adapters.transport.guard import Guard
from adapters.transport.urls import UrlProblem, canonical_url
from adapters.web.browser import not_installed
from adapters.web.screenshot import Screenshots, option_problems, prepare_screenshot
from gateway.clock import SystemClock

WHERE = Path(fakes.photographer.__file__)


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    """A running server."""
    async with open_web() as fake:
        yield fake


def screenshots(*targets: str, mark: str = "", browser: str | AdapterError = "/usr/bin/false") -> Screenshots:
    """Taken by the fake photographer, which may reach these targets."""

    def find(_target: Target) -> str:
        if isinstance(browser, AdapterError):
            raise browser
        return browser

    dialler = Dialler(Guard.of(targets), inner_resolver())
    command = (sys.executable, "-P", str(WHERE), mark)
    return Screenshots(
        SystemClock(), dialler, lambda _target: "agent/1", find=find, command=command, password=lambda: "pr0xy-s3cret"
    )


def left_behind() -> list[Path]:
    """The homes of browsers that are there."""
    return list(Path(tempfile.gettempdir()).glob("tollhouse-browser-*"))


def invocation(url: str, seconds: float = 20.0, target: Target | None = None, **more: Any) -> Invocation:
    """Of prepared arguments."""
    return Invocation(
        arguments=prepare_screenshot({"url": url, **more}),
        target=target or Target(name="web"),
        credential=None,
        deadline=SystemClock.monotonic() + seconds,
        effect_id="e",
    )


async def taken(web: FakeWeb, say: str, **more: Any) -> Output:
    """What came of a page of this path."""
    return await screenshots(web.target).invoke(invocation(f"{web.base}/say/{say}", **more))


async def failed(at: Screenshots, asked: Invocation) -> AdapterError:
    """What it ended with."""
    with pytest.raises(AdapterError) as caught:
        await at.invoke(asked)
    assert caught.value.happened is Happened.NO
    assert "pr0xy-s3cret" not in f"{caught.value} {caught.value.message}"
    return caught.value


def test_prepare_is_a_url_and_a_window() -> None:
    """With the URL's parts for policy."""
    assert prepare_screenshot({"url": "HTTPS://Example.com/a/../b", "width": 800}) == {
        "url": "https://example.com/b",
        "scheme": "https",
        "host": "example.com",
        "port": 443,
        "path": "/b",
        "width": 800,
        "height": 800,
    }


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({"url": "file:///etc/passwd"}, ["/url"]),
        ({"url": "chrome://settings"}, ["/url"]),
        ({"url": "data:text/html,x"}, ["/url"]),
        ({"url": "http://u:p@x.example/", "width": 319, "height": 2161}, ["/width", "/height", "/url"]),
        ({"url": "http://x.example/", "width": 1921}, ["/width"]),
        ({"url": "http://x.example/", "height": 0}, ["/height"]),
    ],
)
def test_prepare_refuses_other_urls_and_windows(arguments: dict[str, Any], paths: list[str]) -> None:
    """All that is wrong at once."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare_screenshot(arguments)
    assert [issue.path for issue in caught.value.issues] == paths


async def test_a_picture_is_a_block_beside_what_is_told(web: FakeWeb) -> None:
    """The receipt names the host and quotes nothing of the page."""
    output = await taken(web, "well", width=800, height=600)
    assert output.content == (Binary(mime_type="image/png", data=PNG),)
    assert output.structured == {
        "url": f"{web.base}/say/well",
        "status": 200,
        "title": "A page",
        "width": 800,
        "height": 600,
        "is_loaded": True,
        "bytes": len(PNG),
    }
    assert output.receipt == f"Took a picture of http://127.0.0.1 ({len(PNG)} bytes)."


async def test_the_browser_gets_out_through_its_proxy(web: FakeWeb) -> None:
    """With the password that it alone was given."""
    output = await taken(web, "page/article")
    assert output.structured["title"] == "200"
    assert [seen.path for seen in web.seen] == ["/article"]


async def test_the_browser_is_given_no_secret(web: FakeWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the gateway's environment it sees what it needs; its home is its own, and gone afterwards."""
    monkeypatch.setenv("VAULT_TOKEN", "s3cret")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    target = Target(name="web", options={"browser_sandbox": False})
    seen = json.loads((await taken(web, "seen", target=target)).structured["title"])
    environment, wanted = seen["environment"], seen["wanted"]
    assert set(environment) <= {
        *("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "FONTCONFIG_PATH", "LC_CTYPE"),
        *("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"),
    }
    assert environment["HOME"] not in [str(path) for path in left_behind()]
    assert (wanted["has_sandbox"], wanted["user_agent"], wanted["browser"]) == (False, "agent/1", "/usr/bin/false")
    assert 15 < wanted["seconds"] < 20


async def test_the_sandbox_is_on_unless_somebody_turned_it_off(web: FakeWeb) -> None:
    """Nobody runs strangers' pages without it by accident."""
    seen = json.loads((await taken(web, "seen")).structured["title"])
    assert seen["wanted"]["has_sandbox"] is True


@pytest.mark.parametrize("form", INNER_FORMS)
async def test_g16_an_inner_address_is_refused_before_a_browser_begins(form: str) -> None:
    """Whatever its spelling; there is not even a browser here."""
    async with open_inner() as inner:
        try:
            canonical_url(f"http://{form}:{inner.port}/")
        except UrlProblem:
            return
        at = screenshots(browser=not_installed())
        assert (await failed(at, invocation(f"http://{form}:{inner.port}/"))).kind is ErrorKind.ADDRESS_REFUSED
    assert inner.connections == 0


async def test_g16_a_page_that_leads_inside_is_refused(web: FakeWeb) -> None:
    """Whether the browser tells of it or shows what came: the proxy knows."""
    async with open_inner() as inner:
        for say in ("inside", "lands"):
            at = screenshots(web.target)
            error = await failed(at, invocation(f"{web.base}/say/{say}/{inner.port}"))
            assert error.kind is ErrorKind.ADDRESS_REFUSED
    assert inner.connections == 0


async def test_the_hosts_of_a_connection_hold(web: FakeWeb) -> None:
    """For what the browser loads, as for what it is asked for."""
    target = Target(name="web", hosts=("example.com",))
    error = await failed(screenshots(web.target), invocation(f"{web.base}/say/page/article", target=target))
    assert (error.kind, web.seen) == (ErrorKind.ADDRESS_REFUSED, [])


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("not_installed", ErrorKind.UNAVAILABLE),
        ("browser", ErrorKind.UNAVAILABLE),
        ("timeout", ErrorKind.DEADLINE),
        ("download", ErrorKind.INVALID),
        ("page", ErrorKind.UNAVAILABLE),
        ("ERR_ABORTED", ErrorKind.INVALID),
        ("ERR_INVALID_AUTH_CREDENTIALS", ErrorKind.FORBIDDEN),
        ("ERR_CERT_AUTHORITY_INVALID", ErrorKind.UNAVAILABLE),
        ("ERR_TUNNEL_CONNECTION_FAILED", ErrorKind.UNAVAILABLE),
        ("ERR_HTTP_RESPONSE_CODE_FAILURE", ErrorKind.NOT_FOUND),
        ("ERR_SOMETHING_NEW", ErrorKind.UNAVAILABLE),
    ],
)
async def test_why_there_is_no_picture_is_told(web: FakeWeb, reason: str, kind: ErrorKind) -> None:
    """In our own words."""
    error = await failed(screenshots(web.target), invocation(f"{web.base}/say/failed/{reason}"))
    assert error.kind is kind
    assert "ERR_" not in error.message


@pytest.mark.parametrize(
    ("say", "kind"),
    [
        ("die", ErrorKind.UNAVAILABLE),
        ("rubbish", ErrorKind.UNAVAILABLE),
        ("list", ErrorKind.UNAVAILABLE),
        ("nothing", ErrorKind.MALFORMED),
        ("large", ErrorKind.TOO_LARGE),
    ],
)
async def test_a_process_that_goes_wrong_is_an_error(web: FakeWeb, say: str, kind: ErrorKind) -> None:
    """Of the closed set."""
    assert (await failed(screenshots(web.target), invocation(f"{web.base}/say/{say}"))).kind is kind


async def test_whatever_a_browser_tells_is_of_the_row_s_schema(web: FakeWeb) -> None:
    """What is of another type is left out."""
    assert (await taken(web, "halves")).structured["title"] == "a?b"  # a lone surrogate is no JSON that can travel
    structured = (await taken(web, "odd")).structured
    assert (structured["status"], structured["title"], structured["is_loaded"]) == (None, "", False)


async def test_a_page_that_left_the_web_is_not_shown(web: FakeWeb) -> None:
    """Chromium's own page about an error is no picture of a page."""
    error = await failed(screenshots(web.target), invocation(f"{web.base}/say/away"))
    assert error.kind is ErrorKind.UNAVAILABLE


async def test_without_a_browser_the_operator_is_told_what_to_install(web: FakeWeb) -> None:
    """In one sentence, at the call and not before."""
    error = await failed(screenshots(web.target, browser=not_installed()), invocation(f"{web.base}/"))
    assert (error.kind, error.fault) == (ErrorKind.UNAVAILABLE, Fault.NOT_LOADED)
    assert "tollhouse[browser]" in error.message


async def test_a_process_that_cannot_be_started_is_unavailable(web: FakeWeb) -> None:
    """Nothing is left behind."""
    dialler = Dialler(Guard.of([web.target]), inner_resolver())
    at = Screenshots(
        SystemClock(), dialler, lambda _: "a", find=lambda _: "/usr/bin/false", command=["/nowhere/at/all"]
    )
    assert (await failed(at, invocation(f"{web.base}/"))).kind is ErrorKind.UNAVAILABLE


async def test_a_machine_without_room_for_a_browser_is_unavailable(
    web: FakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A root that cannot be written to, and no folder beside it."""
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/at/all")
    assert (await failed(screenshots(web.target), invocation(f"{web.base}/"))).kind is ErrorKind.UNAVAILABLE


@pytest.mark.parametrize("how", ["deadline", "cancel"])
async def test_a_page_that_hangs_is_ended(web: FakeWeb, tmp_path: Path, how: str) -> None:
    """With its process, at the deadline or when the caller leaves."""
    mark = tmp_path / "pid"
    at = screenshots(web.target, mark=str(mark))
    asked = invocation(f"{web.base}/say/hang", seconds=2.0 if how == "deadline" else 60.0)
    running = asyncio.create_task(at.invoke(asked))
    while not mark.exists():
        await asyncio.sleep(0.01)
    pid = int(mark.read_text())
    if how == "cancel":
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    else:
        with pytest.raises(AdapterError) as caught:
            await running
        assert caught.value.kind is ErrorKind.DEADLINE
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_passed_deadline_begins_nothing(web: FakeWeb) -> None:
    """Certain that nobody was asked."""
    assert (await failed(screenshots(web.target), invocation(web.base, seconds=-1))).kind is ErrorKind.DEADLINE


async def test_browsers_are_few_and_the_queue_is_short(web: FakeWeb, tmp_path: Path) -> None:
    """Two at once and eight that wait; the next is refused at once."""
    at = screenshots(web.target, mark=str(tmp_path / "pid"))
    held = [asyncio.create_task(at.invoke(invocation(f"{web.base}/say/hang"))) for _ in range(10)]
    await asyncio.sleep(0)
    assert (await failed(at, invocation(f"{web.base}/say/well"))).kind is ErrorKind.UNAVAILABLE
    for task in held:
        task.cancel()
    await asyncio.gather(*held, return_exceptions=True)
    assert (await at.invoke(invocation(f"{web.base}/say/well"))).content


@pytest.mark.parametrize(
    ("options", "word"),
    [({"browser": "chromium"}, "browser"), ({"browser": 5}, "browser"), ({"browser_sandbox": "no"}, "browser_sandbox")],
)
def test_a_wrong_option_is_told(options: dict[str, Any], word: str) -> None:
    """In one sentence."""
    (sentence,) = option_problems(Target(name="w", options=options))
    assert word in sentence
    assert option_problems(Target(name="w", options={"browser": "/opt/chrome", "browser_sandbox": False})) == []
