"""Heads of messages that pass through the browser's proxy."""

import pytest

from adapters.web.heads import END, BadHead, read_answer, read_request


def head(*lines: str) -> bytes:
    """Of these lines."""
    return "\r\n".join(lines).encode("latin-1") + END


def test_a_tunnel_is_for_a_host_and_a_port() -> None:
    """In canonical form; nothing is sent on."""
    asked = read_request(head("CONNECT Example.COM:8443 HTTP/1.1", "Host: x", "Proxy-Authorization: Basic abc"))
    assert (asked.is_tunnel, asked.url.host, asked.url.port) == (True, "example.com", 8443)
    assert (asked.proof, asked.onward) == (b"Basic abc", b"")
    assert read_request(head("CONNECT [::1]:443 HTTP/1.1")).url.host == "::1"


def test_a_request_is_sent_on_without_what_is_for_the_proxy() -> None:
    """For the site's own path and name, on a connection that ends with it."""
    asked = read_request(
        head(
            "GET http://0x7f.1:8080/a/../b?q=1 HTTP/1.1",
            "Host: elsewhere.example",
            "Proxy-Authorization: Basic abc",
            "Proxy-Connection: keep-alive",
            "Connection: keep-alive, X-Gone, content-length",
            "X-Gone: 1",
            "Upgrade: websocket",
            "Accept: */*",
            "Content-Length: 5",
        )
    )
    assert (asked.is_tunnel, asked.url.text, asked.body_bytes) == (False, "http://127.0.0.1:8080/b?q=1", 5)
    assert asked.onward == head(
        "GET /b?q=1 HTTP/1.1", "Host: 127.0.0.1:8080", "Connection: close", "Accept: */*", "Content-Length: 5"
    )


@pytest.mark.parametrize(
    "lines",
    [
        ("GET / HTTP/1.1", "Host: example.com"),
        ("GET https://example.com/ HTTP/1.1",),
        ("GET ftp://example.com/ HTTP/1.1",),
        ("GET file:///etc/passwd HTTP/1.1",),
        ("GET http://user:pass@example.com/ HTTP/1.1",),
        ("GET http://example.com:0/ HTTP/1.1",),
        ("GET http://example.com/ HTTP/2.0",),
        ("GET  http://example.com/ HTTP/1.1",),
        ("get http://example.com/ HTTP/1.1",),
        ("GET http://example.com/\x00 HTTP/1.1",),
        ("GET http://exa\\mple.com/ HTTP/1.1",),
        ("CONNECT example.com HTTP/1.1",),
        ("CONNECT example.com:0 HTTP/1.1",),
        ("CONNECT example.com:99999 HTTP/1.1",),
        ("CONNECT user@example.com:443 HTTP/1.1",),
        ("CONNECT http://example.com:443 HTTP/1.1",),
        ("CONNECT example.com:443/path HTTP/1.1",),
        ("CONNECT example.com:443?q HTTP/1.1",),
        ("CONNECT :443 HTTP/1.1",),
        ("POST http://example.com/ HTTP/1.1", "Transfer-Encoding: chunked"),
        ("POST http://example.com/ HTTP/1.1", "Content-Length: 1", "Content-Length: 1"),
        ("POST http://example.com/ HTTP/1.1", "Content-Length: +1"),
        ("POST http://example.com/ HTTP/1.1", "Content-Length: 1, 1"),
        ("GET http://example.com/ HTTP/1.1", " folded: 1"),
        ("GET http://example.com/ HTTP/1.1", "Name : 1"),
        ("GET http://example.com/ HTTP/1.1", "no colon"),
        ("GET http://example.com/ HTTP/1.1", "X: a\nY: b"),
        ("GET http://example.com/ HTTP/1.1", *["X: 1"] * 201),
        ("",),
    ],
)
def test_what_can_be_read_in_two_ways_does_not_pass(lines: tuple[str, ...]) -> None:
    """It is not guessed at."""
    with pytest.raises(BadHead):
        read_request(head(*lines))


def test_two_proofs_are_none() -> None:
    """Nobody knows which one counts."""
    asked = read_request(head("CONNECT a.example:443 HTTP/1.1", *["Proxy-Authorization: Basic abc"] * 2))
    assert asked.proof == b""


def test_an_answer_ends_its_connection() -> None:
    """And sends the browser to no other server; how its body is framed stays as it is."""
    status, onward = read_answer(
        head(
            "HTTP/1.1 200 OK",
            "Connection: keep-alive",
            "Keep-Alive: timeout=5",
            "Proxy-Authenticate: Basic",
            'Alt-Svc: h3=":443"',
            "Transfer-Encoding: chunked",
            "Content-Type: text/html",
        )
    )
    assert status == 200
    assert onward == head(
        "HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Content-Type: text/html", "Connection: close"
    )


@pytest.mark.parametrize(
    "lines",
    [
        ("HTTP/1.1 20 OK",),
        ("HTTP/2 200",),
        ("rubbish",),
        ("HTTP/1.1 999 ?",),
        ("HTTP/1.1 200 OK", "Content-Length: x"),
        ("HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 2"),
    ],
)
def test_an_answer_that_is_no_proper_http_does_not_pass(lines: tuple[str, ...]) -> None:
    """Nor one with two lengths."""
    with pytest.raises(BadHead):
        read_answer(head(*lines))
