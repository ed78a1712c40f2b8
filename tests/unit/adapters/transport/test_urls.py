"""Every odd spelling of a URL becomes its one canonical form, or is refused."""

# ruff: noqa: RUF001 - look-alike characters are what is tested

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.transport.urls import UrlProblem, WebUrl, canonical_host, canonical_url, redirect_target


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("HTTP://EXAMPLE.com", "http://example.com/"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("http://example.com:443/a", "http://example.com:443/a"),
        ("http://example.com:/", "http://example.com/"),
        ("http://example.com:0080/", "http://example.com/"),
        ("http://example.com./", "http://example.com/"),
        ("http://example.com/a/./b/../c#part", "http://example.com/a/c"),
        ("http://example.com/%2e%2e/%7euser/a%2fb", "http://example.com/~user/a%2Fb"),
        ("http://example.com?q=a+b%20c%26d", "http://example.com/?q=a+b%20c%26d"),
        ("http://example.com/ü?ö=ä", "http://example.com/%C3%BC?%C3%B6=%C3%A4"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://example。com/", "http://example.com/"),
        ("http://127.0.0.1.example.com/", "http://127.0.0.1.example.com/"),
        ("http://[2001:4860:4860:0:0:0:0:8888]:8080/", "http://[2001:4860:4860::8888]:8080/"),
        ("http://my_host/", "http://my_host/"),
    ],
)
def test_a_url_becomes_canonical(text: str, canonical: str) -> None:
    """Case, default port, dot segments, fragment, percent-encoding, IDNA and dots."""
    assert canonical_url(text).text == canonical


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7F.1", "0x7f.0x0.0x0.0x1"),
        *("017700000001", "0177.0.0.1", "0177.0.0.01", "１２７.0.0.1", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1"),
        *("①②⑦.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]"),
    ],
)
def test_every_spelling_of_an_ipv4_address_becomes_dotted(host: str) -> None:
    """Policy sees the address that the socket would go to."""
    assert canonical_url(f"http://{host}/").host == "127.0.0.1"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "scheme"),
        ("example.com", "scheme"),
        ("//example.com/", "scheme"),
        ("http:/example.com/", "scheme"),
        ("http:example.com", "scheme"),
        ("ftp://example.com/", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("javascript://example.com/%0aalert(1)", "scheme"),
        ("gopher://127.0.0.1:6379/_x", "scheme"),
        ("http://", "host"),
        ("http:///path", "host"),
        ("http://:80/", "host"),
        ("http://user@example.com/", "userinfo"),
        ("http://user:pass@example.com/", "userinfo"),
        ("http://@example.com/", "userinfo"),
        ("http://example.com@127.0.0.1/", "userinfo"),
        ("http://exam ple.com/", "characters"),
        (" http://example.com/", "characters"),
        ("http://example.com/\r\nX: y", "characters"),
        ("http://example.com\\@127.0.0.1/", "characters"),
        ("http://example.com/\x00", "characters"),
        ("http://exa\u200bmple.com/", "characters"),
        ("http://example.com/\ud800", "characters"),
        ("http://example.com/\u3000", "characters"),
        ("http://example.com:0/", "port"),
        ("http://example.com:65536/", "port"),
        ("http://example.com:999999999999/", "port"),
        ("http://example.com:８０/", "port"),
        ("http://example.com:+80/", "port"),
        ("http://example.com:80:80/", "port"),
        ("http://[::1/", "port"),
        ("http://[127.0.0.1]/", "port"),
        ("http://[v1.x]/", "port"),
        ("http://[fe80::1%25eth0]/", "host"),
        ("http://[fe80::1%eth0]/", "host"),
        ("http://[::g]/", "host"),
        ("http://a..b/", "host"),
        ("http://.../", "host"),
        ("http://-a.com/", "host"),
        ("http://a%2ecom/", "host"),
        ("http://a／b.com/", "host"),
        ("http://a*b.com/", "host"),
        ("http://256.1.1.1/", "host"),
        ("http://1.2.3.4.5/", "host"),
        ("http://09.1.1.1/", "host"),
        ("http://4294967296/", "host"),
        ("http://1.2.3.0xfff/", "host"),
        ("http://" + "a" * 64 + ".com/", "host"),
        ("http://" + "a." * 130 + "com/", "host"),
        ("http://example.com/" + "a" * 2048, "max_length"),
        ("http://example.com/" + "ü" * 400, "max_length"),
    ],
)
def test_what_is_not_a_plain_url_is_refused(text: str, rule: str) -> None:
    """Each with the rule that it breaks."""
    with pytest.raises(UrlProblem) as caught:
        canonical_url(text)
    assert caught.value.rule == rule


def test_prepared_arguments_rebuild_the_same_url() -> None:
    """Nothing is parsed between policy and socket."""
    url = canonical_url("https://Example.com:8443/a?b")
    assert url.as_arguments() == {
        "url": "https://example.com:8443/a?b",
        "scheme": "https",
        "host": "example.com",
        "port": 8443,
        "path": "/a",
    }
    assert WebUrl.of_arguments(url.as_arguments()) == url


@given(st.text(max_size=60) | st.from_regex(r"https?://[a-z0-9.%\[\]:@/\\_?#&=-]{0,40}", fullmatch=True))
def test_a_canonical_url_stays_as_it_is(text: str) -> None:
    """Reading is a projection, so that a second reader finds nothing new; nothing but `UrlProblem` is raised."""
    try:
        once = canonical_url(text)
    except UrlProblem:
        return
    assert canonical_url(once.text) == once


@given(st.text(max_size=40))
def test_a_canonical_host_stays_as_it_is(text: str) -> None:
    """Hosts are compared in this form."""
    try:
        once = canonical_host(text)
    except UrlProblem:
        return
    assert canonical_host(once) == once


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/x", "https://a.example/x"),
        ("y?z", "https://a.example/dir/y?z"),
        ("//b.example/x", "https://b.example/x"),
        ("http://b.example", "http://b.example/"),
        ("  /with space ", "https://a.example/with%20space"),
        ("?q", "https://a.example/dir/page?q"),
        ("http://2130706433/", "http://127.0.0.1/"),
    ],
)
def test_a_redirect_is_read_from_where_it_was_given(location: str, expected: str) -> None:
    """Relative, absolute and without a scheme; always canonical."""
    assert redirect_target(canonical_url("https://a.example/dir/page"), location).text == expected


@pytest.mark.parametrize(
    "location", ["ftp://x/", "http://u:p@x/", "http://x\\y/", "/a\tb", "javascript:alert(1)", "http://[/"]
)
def test_a_redirect_to_something_else_is_refused(location: str) -> None:
    """The rules are those of a first URL."""
    with pytest.raises(UrlProblem):
        redirect_target(canonical_url("https://a.example/"), location)
