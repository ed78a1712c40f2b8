"""No form of a credential survives."""

import base64
import html
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Binary, Secret, Text
from gateway.result.forms import forms_of
from gateway.result.scrub import MARKER, scrub_blocks, scrub_json, scrub_string, scrub_text

SECRET = "s3cr3t-Pa55"


def scrubbed(value: Any, *secrets: str) -> tuple[Any, int]:
    """The value after scrubbing, read back from its serialised form, and the count."""
    _, serialised, count = scrub_json(value, orjson.dumps(value), tuple(map(Secret, secrets or (SECRET,))))
    return orjson.loads(serialised), count


def test_without_a_find_everything_stays_as_it_is() -> None:
    """The very same objects."""
    value = {"a": [1, 2.5, None, True, "text"]}
    serialised = orjson.dumps(value)
    same, same_bytes, count = scrub_json(value, serialised, (Secret(SECRET),))
    assert same is value
    assert same_bytes is serialised
    assert count == 0


def test_values_keys_and_nested_items_are_scrubbed() -> None:
    """Each find is counted, and the value that came in is not changed."""
    value = {"a": f"x {SECRET} y {SECRET}", SECRET: [{"deep": base64.b64encode(SECRET.encode()).decode()}]}
    before = repr(value)
    clean, count = scrubbed(value)
    assert clean == {"a": f"x {MARKER} y {MARKER}", MARKER: [{"deep": MARKER}]}
    assert count == 4
    assert repr(value) == before


def test_two_secret_keys_do_not_fall_together() -> None:
    """No value is lost."""
    clean, _ = scrubbed({SECRET: 1, SECRET.encode().hex(): 2, MARKER: 3})
    assert sorted(clean.values()) == [1, 2, 3]


@pytest.mark.parametrize("number", [87654321, 187654321.5, -876543219])
def test_a_number_that_holds_the_secret_becomes_the_marker(number: float) -> None:
    """A PIN is a credential too."""
    assert scrubbed({"n": number, "m": 1}, "87654321") == ({"n": MARKER, "m": 1}, 1)


def test_an_escape_is_not_cut_in_two() -> None:
    """The serialised line feed ends in n, and what stands there is not the secret."""
    assert scrubbed({"a": "\nabcd"}, "nabcd") == ({"a": "\nabcd"}, 0)
    assert scrubbed({"a": "\nabcd nabcd"}, "nabcd") == ({"a": f"\nabcd {MARKER}"}, 1)


@pytest.mark.parametrize(
    "secret", ['quo"te', "back\\slash", "line\nbreak", "nul\0nul", "ümläut", "🎉🎉", "tab\t/x", "<&>'\""]
)
def test_awkward_characters_are_found(secret: str) -> None:
    """As they are, and as JSON writes them, in both ways."""
    texts = [secret, json.dumps(secret), json.dumps(secret, ensure_ascii=False), json.dumps(json.dumps(secret))]
    clean, count = scrubbed({str(index): text for index, text in enumerate(texts)}, secret)
    assert all(MARKER in text for text in clean.values())
    assert count == len(texts)


def test_text_blocks_and_binary_blocks_are_scrubbed() -> None:
    """Bytes are searched as they are; a block without a find is the same object."""
    blocks = (Text(text=f"a {SECRET}"), Text(text="b"), Binary(mime_type="x/y", data=b"\xff" + SECRET.encode()))
    clean, count = scrub_blocks(blocks, (Secret(SECRET),))
    assert clean[0] == Text(text=f"a {MARKER}")
    assert clean[1] is blocks[1]
    assert clean[2] == Binary(mime_type="x/y", data=b"\xff" + MARKER.encode())
    assert count == 2
    assert scrub_blocks(blocks, ()) == (blocks, 0)


def test_error_messages_are_scrubbed() -> None:
    """With several secrets, all of them."""
    assert scrub_text(f"no {SECRET} and other-secret", (Secret(SECRET), Secret("other-secret"))) == (
        f"no {MARKER} and {MARKER}"
    )
    assert scrub_text("nothing here", ()) == "nothing here"


@pytest.mark.parametrize("secret", ["redacted", "[redacted]", "ted]", "dact", "ted]x"])
def test_a_secret_that_looks_like_the_marker(secret: str) -> None:
    """Is not written back by the marker itself."""
    text, count = scrub_string(f"a{secret}xredactedx", (Secret(secret),))
    assert secret not in text
    assert count >= 1


def test_a_dropped_secret_scrubs_nothing() -> None:
    """And breaks nothing: the empty string is in every text."""
    secret = Secret(SECRET)
    secret.drop()
    assert scrub_text("abc", (secret,)) == "abc"


ENCODINGS: dict[str, Callable[[str], str]] = {
    "raw": lambda s: s,
    "hex": lambda s: s.encode().hex(),
    "HEX": lambda s: s.encode().hex().upper(),
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "base64 of a pair": lambda s: base64.b64encode(f"user:{s}".encode()).decode(),
    "base64 of plain": lambda s: base64.b64encode(f"\0u\0{s}".encode()).decode(),
    "base64url": lambda s: base64.urlsafe_b64encode(f"ab{s}c".encode()).decode().rstrip("="),
    "percent": lambda s: quote(s, safe=""),
    "form": quote_plus,
    "every byte": lambda s: "".join(f"%{byte:02x}" for byte in s.encode()),
    "json": json.dumps,
    "json raw": lambda s: json.dumps(s, ensure_ascii=False),
    "html": html.escape,
}
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
SECRETS = st.text(st.characters(codec="utf-8"), min_size=4, max_size=30)


@given(
    secrets=st.lists(SECRETS, min_size=1, max_size=2),
    encoding=st.sampled_from(sorted(ENCODINGS)),
    around=st.tuples(TEXT, TEXT),
    where=st.sampled_from(["value", "key", "item", "twice"]),
)
@settings(max_examples=400, deadline=None)
def test_no_form_survives(secrets: list[str], encoding: str, around: tuple[str, str], where: str) -> None:
    """Whatever the secret, its encoding, what surrounds it and where it stands."""
    text = around[0] + ENCODINGS[encoding](secrets[0]) + around[1]
    value: Any = {
        "value": {"a": text},
        "key": {text: 1},
        "item": {"a": [[text]]},
        "twice": {"a": text + text, "b": 0.5},
    }[where]
    clean, count = scrubbed(value, *secrets)
    assert count >= 1
    strings = list(_strings(clean))
    for secret in secrets:
        for form in forms_of(Secret(secret)).text:
            assert not any(form in string for string in strings)
    assert not any(ENCODINGS[encoding](secrets[0]) in string for string in strings)


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers(0, 999) | TEXT,
        lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    )
)
@settings(max_examples=100, deadline=None)
def test_what_holds_no_secret_is_not_changed(value: Any) -> None:
    """No text is taken out by accident."""
    assert scrubbed(value, "a-secret-that-is-nowhere") == (value, 0)


def _strings(value: Any) -> Any:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
