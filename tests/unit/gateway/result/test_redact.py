"""Redaction paths."""

from typing import Any

import pytest

from gateway.result.redact import compile_redactions, redact
from gateway.result.scrub import MARKER

VALUE: dict[str, Any] = {
    "user": {"name": "Ann", "email": "ann@corp.example", "a/b": 1, "~": 2},
    "items": [{"token": "t1", "n": 1}, {"n": 2}, {"token": {"x": 1}, "n": 3}],
    "7": "key",
}


@pytest.mark.parametrize(
    ("pointer", "path", "expected"),
    [
        ("/user/email", ("user", "email"), MARKER),
        ("/user/a~1b", ("user", "a/b"), MARKER),
        ("/user/~0", ("user", "~"), MARKER),
        ("/user", ("user",), MARKER),
        ("/items/0/token", ("items", 0, "token"), MARKER),
        ("/items/*/token", ("items", 2, "token"), MARKER),
        ("/items/*", ("items",), [MARKER] * 3),
        ("/*/name", ("user", "name"), MARKER),
        ("/7", ("7",), MARKER),
    ],
)
def test_a_path_takes_its_values_out(pointer: str, path: tuple[Any, ...], expected: Any) -> None:
    """Of objects and lists, by name, by index, and by star."""
    before = repr(VALUE)
    clean, hit = redact(VALUE, compile_redactions([pointer]))
    for segment in path:
        clean = clean[segment]
    assert clean == expected
    assert hit == (pointer,)
    assert repr(VALUE) == before


@pytest.mark.parametrize(
    "pointer",
    [
        "/nobody",
        "/user/email/deep",
        "/items/3",
        "/items/-1",
        "/items/00",
        "/items/x",
        "/user/0",
        "/items/*/no",
        "/items/²",
    ],
)
def test_a_path_that_leads_nowhere_changes_nothing(pointer: str) -> None:
    """The same object comes back, and the path is not reported."""
    clean, hit = redact(VALUE, compile_redactions([pointer]))
    assert clean is VALUE
    assert hit == ()


def test_only_paths_that_met_something_are_reported() -> None:
    """Each once, in order."""
    _, hit = redact(VALUE, compile_redactions(["/items/*/token", "/no", "/user/email", "/user/email"]))
    assert hit == ("/items/*/token", "/user/email")


@pytest.mark.parametrize("value", [None, "text", 5, [], {}])
def test_any_value_can_be_asked(value: Any) -> None:
    """Without a hit it is what it was."""
    assert redact(value, compile_redactions(["/a/*/b"])) == (value, ())


def test_what_is_not_a_pointer_does_not_compile() -> None:
    """The whole output cannot be redacted by a path, and a name is no path."""
    for pointer in ("", "user"):
        with pytest.raises(ValueError, match="JSON Pointer"):
            compile_redactions([pointer])
