"""A row sets no header that would make another request of it."""

import pytest

from adapters.http_api.names import is_value, read_name
from adapters.http_api.options import Issues, Part


def read(name: str, **how: bool) -> tuple[str, list[str]]:
    """The name as it is written, and the problems' rules."""
    issues: Issues = []
    return read_name(Part({}, "/headers", issues), name, name, **how), [issue.rule for issue in issues]


@pytest.mark.parametrize(
    ("name", "written"),
    [("x-request-id", "X-Request-Id"), ("X-API-VERSION", "X-Api-Version"), ("if-match", "If-Match")],
)
def test_a_name_has_one_spelling(name: str, written: str) -> None:
    """So that a header cannot be set twice."""
    assert read(name, is_argument=True) == (written, [])


@pytest.mark.parametrize(
    "name",
    [
        *(
            "Host",
            "host",
            "Content-Length",
            "Transfer-Encoding",
            "Connection",
            "Keep-Alive",
            "Upgrade",
            "TE",
            "Trailer",
        ),
        *("Authorization", "Cookie", "Proxy-Authorization", "proxy-connection", "Accept-Encoding", "Content-Encoding"),
        *("Content_Length", "Transfer_Encoding", "Expect", "X-Forwarded-Host", "x_forwarded_for", "Forwarded"),
        *("X-HTTP-Method-Override", "X-Original-URL", "Tollhouse-Assertion", "tollhouse_assertion", "HTTP2-Settings"),
    ],
)
def test_a_header_that_changes_the_request_is_refused(name: str) -> None:
    """In any spelling that some server takes for it."""
    assert read(name) == ("", ["forbidden"])


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\r\nHost", "ä", "x" * 65, "a\0", "(a)"])
def test_what_is_no_name_is_refused(name: str) -> None:
    """Whatever would end it early."""
    assert read(name) == ("", ["name"])


def test_how_an_answer_is_read_is_no_argument() -> None:
    """The row may say it."""
    assert read("Accept", is_argument=True) == ("", ["forbidden"])
    assert read("accept") == ("Accept", [])
    assert read("Content-Type", is_argument=True)[1] == ["forbidden"]


def test_a_credential_may_stand_in_authorization() -> None:
    """And in nothing else that a row may not set."""
    assert read("authorization", is_proof=True) == ("Authorization", [])
    assert read("Cookie", is_proof=True)[1] == ["forbidden"]


@pytest.mark.parametrize(
    ("text", "is_right"),
    [("", True), ("a b", True), (" a", False), ("a\r\nb", False), ("a\0", False), ("ä", False), ("x" * 4097, False)],
)
def test_a_value_is_one_line_of_ascii(text: str, is_right: bool) -> None:
    """As it goes out and comes in."""
    assert is_value(text) is is_right


@pytest.mark.parametrize("name", ["X-Forwarded", "x_forwarded_for", "X-FORWARDED-HOST", "Proxy_Authorization"])
def test_who_asked_is_nothing_that_a_row_says(name: str) -> None:
    """In no spelling that some server reads alike."""
    issues: Issues = []
    assert read_name(Part({}, "", issues), name, name) == ""
    assert [issue.rule for issue in issues] == ["forbidden"]
