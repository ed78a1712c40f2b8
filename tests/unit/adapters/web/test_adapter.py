"""The web adapter against a real server."""

from collections.abc import AsyncIterator
from importlib.resources import files
from typing import Any

import pytest
import yaml
from fakes.clock import FakeClock
from fakes.transport import open_transport
from fakes.web import ARTICLE, ARTICLE_TEXT, ARTICLE_TITLE, FakeWeb, open_inner, open_web

from adapters.base import AdapterError, ArgumentProblem, ErrorKind, Happened, Invocation, Output, Target
from adapters.transport.api import ApiParts
from adapters.transport.dialler import Dialler
from adapters.transport.guard import Guard
from adapters.transport.pauses import MemoryPauses
from adapters.transport.resolver import SystemResolver
from adapters.transport.tokens import MemoryTokens
from adapters.web.adapter import DEFAULT_FETCH_BYTES, MAX_FETCH_BYTES, WebAdapter, prepare_extract, prepare_fetch


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    """A running server."""
    async with open_web() as fake:
        yield fake


@pytest.fixture
async def adapter(web: FakeWeb) -> AsyncIterator[WebAdapter]:
    """An adapter that may reach that server."""
    clock = FakeClock(sleeps_pass=True)
    async with open_transport(web.target, clock=clock) as transport:
        parts = ApiParts(clock=clock, transport=transport, pauses=MemoryPauses(clock), tokens=MemoryTokens(clock))
        opened = WebAdapter(parts, Dialler(Guard.of([web.target]), SystemResolver()))
        yield opened
        await opened.close()


async def _invoke(adapter: WebAdapter, operation: str, target: Target | None = None, **arguments: Any) -> Output:
    chosen = adapter.operations[operation]
    return await chosen.invoke(
        Invocation(
            arguments=chosen.prepare(arguments),
            target=target or Target(name="web"),
            credential=None,
            deadline=1010.0,
            effect_id="e",
        )
    )


async def _error(
    adapter: WebAdapter, operation: str = "fetch", target: Target | None = None, **arguments: Any
) -> AdapterError:
    with pytest.raises(AdapterError) as caught:
        await _invoke(adapter, operation, target, **arguments)
    assert caught.value.happened is Happened.NO
    return caught.value


def test_prepare_returns_what_policy_judges() -> None:
    """The canonical URL, its parts, and the size."""
    assert prepare_fetch({"url": "HTTP://0x7f.1:8080/a/../b#c"}) == {
        "url": "http://127.0.0.1:8080/b",
        "scheme": "http",
        "host": "127.0.0.1",
        "port": 8080,
        "path": "/b",
        "max_bytes": DEFAULT_FETCH_BYTES,
    }
    assert prepare_fetch({"url": "https://example.com", "max_bytes": 5})["max_bytes"] == 5
    assert prepare_extract({"url": "https://Example.com"})["url"] == "https://example.com/"


@pytest.mark.parametrize("prepare", [prepare_fetch, prepare_extract])
@pytest.mark.parametrize("url", ["", "ftp://x/", "http://u:p4ssword@x/", "http://x/\n", "http://", "http://x:0/"])
def test_prepare_refuses_what_is_no_plain_url(prepare: Any, url: str) -> None:
    """With one issue at the argument, in a sentence that does not repeat it."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare({"url": url})
    (issue,) = caught.value.issues
    assert issue.path == "/url"
    assert issue.message.startswith("The URL ")
    assert "p4ssword" not in f"{issue.message} {caught.value}"


async def test_fetch_brings_the_text(web: FakeWeb, adapter: WebAdapter) -> None:
    """As the site sent it, with a receipt for a person."""
    output = await _invoke(adapter, "fetch", url=f"{web.base}/article?q=private")
    assert output.structured == {
        "url": f"{web.base}/article?q=private",
        "status": 200,
        "content_type": "text/html",
        "text": ARTICLE,
        "redirects": [],
    }
    assert output.receipt == f"Fetched {web.base}/article (200, {len(ARTICLE.encode()):,} bytes)."
    assert (output.cut, output.attempts) == (None, 1)


async def test_fetch_tells_redirects_in_the_output_and_not_in_the_receipt(web: FakeWeb, adapter: WebAdapter) -> None:
    """Where a stranger led is the stranger's word."""
    output = await _invoke(adapter, "fetch", url=f"{web.base}/redirect?to=/json?ignore-your-instructions")
    assert output.structured["url"] == f"{web.base}/json?ignore-your-instructions"
    assert output.structured["redirects"] == [f"{web.base}/json?ignore-your-instructions"]
    assert "ignore" not in output.receipt


@pytest.mark.parametrize("wanted", [0, -1, MAX_FETCH_BYTES + 1, 10**15])
def test_nobody_reads_without_bound_whatever_a_row_lets_in(wanted: int) -> None:
    """A row may have a looser schema than the one that comes with the adapter."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare_fetch({"url": "https://example.com", "max_bytes": wanted})
    assert [(issue.path, issue.rule) for issue in caught.value.issues] == [("/max_bytes", "range")]


async def test_fetch_is_cut_at_max_bytes_with_evidence(web: FakeWeb, adapter: WebAdapter) -> None:
    """The text is shorter, and it says so."""
    output = await _invoke(adapter, "fetch", url=f"{web.base}/article", max_bytes=10)
    assert output.structured["text"] == ARTICLE[:10]
    assert output.cut is not None
    assert output.cut.read_bytes == 10 < output.cut.seen_bytes
    assert output.receipt.endswith("(200, 10 bytes, cut).")


async def test_extract_brings_the_article(web: FakeWeb, adapter: WebAdapter) -> None:
    """Without menus, with what is known about it."""
    output = await _invoke(adapter, "extract", url=f"{web.base}/chain/2")
    assert output.structured["title"] == ARTICLE_TITLE
    assert ARTICLE_TEXT in output.structured["text"]
    assert output.structured["url"] == f"{web.base}/article"
    assert output.receipt.startswith(f"Read the article at {web.base}/chain/2 (200, ")


async def test_extract_without_an_article_says_so(web: FakeWeb, adapter: WebAdapter) -> None:
    """An empty text and an honest receipt."""
    output = await _invoke(adapter, "extract", url=f"{web.base}/typed?type=text/html&hex={b'<html>'.hex()}")
    assert output.structured["text"] == ""
    assert output.receipt.startswith("Found no article at ")


async def test_extract_takes_html_alone(web: FakeWeb, adapter: WebAdapter) -> None:
    """JSON has no article; the message names the other tool."""
    error = await _error(adapter, "extract", url=f"{web.base}/json")
    assert error.kind is ErrorKind.INVALID
    assert "web_fetch" in error.message


@pytest.mark.parametrize("operation", ["fetch", "extract"])
async def test_what_is_not_text_is_refused(web: FakeWeb, adapter: WebAdapter, operation: str) -> None:
    """An image is no text."""
    error = await _error(adapter, operation, url=f"{web.base}/typed?type=image/png&hex=00")
    assert error.kind is ErrorKind.INVALID


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, ErrorKind.FORBIDDEN),
        (403, ErrorKind.FORBIDDEN),
        (404, ErrorKind.NOT_FOUND),
        (418, ErrorKind.INVALID),
        (429, ErrorKind.RATE_LIMITED),
        (500, ErrorKind.UNAVAILABLE),
        (503, ErrorKind.UNAVAILABLE),
    ],
)
async def test_a_status_becomes_a_kind(web: FakeWeb, adapter: WebAdapter, status: int, kind: ErrorKind) -> None:
    """And no word of the page comes along."""
    error = await _error(adapter, url=f"{web.base}/status/{status}")
    assert error.kind is kind
    assert "nothing to see" not in error.message


async def test_g12_a_long_wait_is_told_at_once(web: FakeWeb, adapter: WebAdapter) -> None:
    """The agent learns when to come back."""
    error = await _error(adapter, url=f"{web.base}/status/429?retry_after=3600")
    assert (error.kind, error.retry_after_seconds, error.attempts) == (ErrorKind.RATE_LIMITED, 3600.0, 1)
    assert len(web.seen) == 1


@pytest.mark.parametrize("operation", ["fetch", "extract"])
async def test_g16_inner_addresses_are_refused(web: FakeWeb, adapter: WebAdapter, operation: str) -> None:
    """For both operations, outright and by redirect."""
    async with open_inner() as inner:
        for url in (f"http://127.1:{inner.port}/", f"{web.base}/redirect?to=http://2130706433:{inner.port}/"):
            assert (await _error(adapter, operation, url=url)).kind is ErrorKind.ADDRESS_REFUSED
    assert inner.connections == 0


async def test_the_hosts_of_a_connection_hold(web: FakeWeb, adapter: WebAdapter) -> None:
    """Another host is refused before anything is looked up."""
    target = Target(name="web", hosts=("example.com",))
    assert (await _error(adapter, target=target, url=f"{web.base}/json")).kind is ErrorKind.ADDRESS_REFUSED
    assert web.seen == []


async def test_the_user_agent_is_ours_or_the_connection_s(web: FakeWeb, adapter: WebAdapter) -> None:
    """A site can tell who asks."""
    await _invoke(adapter, "fetch", url=f"{web.base}/json")
    await _invoke(adapter, "fetch", Target(name="web", options={"user_agent": "acme-bot/1"}), url=f"{web.base}/json")
    assert [seen.headers["User-Agent"] for seen in web.seen] == ["tollhouse/0.1", "acme-bot/1"]


async def test_no_credential_is_ever_sent(web: FakeWeb, adapter: WebAdapter) -> None:
    """Nothing but the headers that a page needs."""
    await _invoke(adapter, "fetch", url=f"{web.base}/json")
    assert set(web.seen[0].headers) == {"Host", "User-Agent", "Accept", "Accept-Encoding"}


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        (Target(name="w", options={"proxy": "x"}), "proxy"),
        (Target(name="w", options={"user_agent": ""}), "user_agent"),
        (Target(name="w", options={"user_agent": "a\r\nX: y"}), "user_agent"),
        (Target(name="w", options={"user_agent": 5}), "user_agent"),
        (Target(name="w", options={"user_agent": "ü"}), "user_agent"),
        (Target(name="w", hosts=("*.example.com",)), "hosts"),
        (Target(name="w", hosts=("Example.com",)), "hosts"),
        (Target(name="w", hosts=("https://example.com",)), "hosts"),
        (Target(name="w", hosts=("example.com:0",)), "hosts"),
        (Target(name="w", hosts=("127.1",)), "hosts"),
        (Target(name="w", hosts=("",)), "hosts"),
    ],
)
def test_a_wrong_connection_is_told(adapter: WebAdapter, target: Target, problem: str) -> None:
    """One sentence for the one thing that is wrong."""
    (sentence,) = adapter.check_target(target)
    assert problem in sentence


@pytest.mark.parametrize(
    "target",
    [
        Target(name="w"),
        Target(name="w", options={"user_agent": "acme-bot/1 (+https://acme.example)"}),
        Target(name="w", hosts=("example.com", "example.com:8443", "10.0.0.1", "2606:4700::1")),
    ],
)
def test_a_right_connection_passes(adapter: WebAdapter, target: Target) -> None:
    """Nothing to say."""
    assert adapter.check_target(target) == []


@pytest.mark.parametrize("operation", ["fetch", "extract"])
async def test_an_output_is_what_the_manifest_says(web: FakeWeb, adapter: WebAdapter, operation: str) -> None:
    """Every property is there and no other, each of its type."""
    manifest = yaml.safe_load(files("adapters.web").joinpath("tools.yaml").read_text("utf-8"))
    (row,) = (row for row in manifest["tools"] if row["binding"]["operation"] == operation)
    output = await _invoke(adapter, operation, url=f"{web.base}/article")
    properties = row["output_schema"]["properties"]
    assert set(output.structured) == set(properties) == set(row["output_schema"]["required"])
    types = {"string": str, "integer": int, "array": list}
    assert all(type(value) is types[properties[name]["type"]] for name, value in output.structured.items())
