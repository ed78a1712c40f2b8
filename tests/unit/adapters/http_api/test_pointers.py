"""Pointers are split by RFC 6901 and followed without surprises."""

from typing import Any

import pytest

from adapters.http_api.pointers import ABSENT, escaped, find, split

# The document and the answers of RFC 6901, section 5.
DOCUMENT: dict[str, Any] = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, 'k"l': 6, " ": 7, "m~n": 8}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ('/k"l', 6),
        ("/ ", 7),
        ("/m~0n", 8),
    ],
)
def test_a_pointer_leads_where_the_rfc_says(pointer: str, value: Any) -> None:
    """Also into what is named by nothing, a blank, or a slash."""
    tokens = split(pointer)
    assert tokens is not None
    assert find(DOCUMENT, tokens) == value


@pytest.mark.parametrize(
    "pointer", ["/nowhere", "/foo/2", "/foo/-", "/foo/01", "/foo/-1", "/foo/0/0", "/a~1b/c", "/foo/x"]
)
def test_a_pointer_to_nothing_is_absent(pointer: str) -> None:
    """And not an error, nor a null."""
    assert find(DOCUMENT, split(pointer) or ()) is ABSENT


def test_a_null_is_there() -> None:
    """It is no absence."""
    assert find({"a": None}, ("a",)) is None


@pytest.mark.parametrize("text", ["a", "a/b", "/~", "/~2", "/a~", " /a", None, 7, ["/a"], "/" + "x" * 1024])
def test_what_is_no_pointer_is_none(text: object) -> None:
    """Whatever it is, and however long."""
    assert split(text) is None


@pytest.mark.parametrize("token", ["a", "", "a/b", "~", "~1", "/~0/"])
def test_an_escaped_token_is_one_token(token: str) -> None:
    """Whatever is in it."""
    assert split(f"/{escaped(token)}") == (token,)
