"""The process that opens a page, as far as it goes without a browser."""

import io
import json
import sys

import pytest

from adapters.web.extraction import LENGTH
from adapters.web.photographer import SWITCHES, _milliseconds, _reason, main


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
