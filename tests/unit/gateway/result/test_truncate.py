"""Making a result fit."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Binary, Text
from gateway.result.scrub import MARKER
from gateway.result.truncate import CUT, MAX_NODES, MAX_PATHS, MIN_STRING, Blocks, Fitted, cut_string, fit, size_of


def fitted(structured: Any, content: Blocks = (), max_bytes: int = 1000) -> Fitted:
    """What fits; its size is checked."""
    serialised = orjson.dumps(structured) if structured is not None else b""
    result = fit(structured, serialised, content, max_bytes)
    assert size_of(result.serialised, result.content) <= max_bytes
    assert result.serialised == (orjson.dumps(result.structured) if result.structured is not None else b"")
    return result


def test_the_longest_strings_are_shortened_and_the_others_kept() -> None:
    """All that are too long get the same length, and their paths are told."""
    result = fitted({"short": "x" * 50, "long": "y" * 5000, "more": ["z" * 9000], "a/b~": "w" * 5000})
    assert result.structured["short"] == "x" * 50
    assert result.paths == ("/long", "/more/0", "/a~1b~0")
    assert CUT.search(result.structured["long"])
    assert len(result.structured["long"]) == len(result.structured["more"][0])
    assert size_of(result.serialised, ()) > 950


def test_text_blocks_share_the_room() -> None:
    """Structured output and text are shortened by the same measure."""
    result = fitted({"a": "x" * 5000}, (Text(text="ü" * 5000), Text(text="short")))
    assert result.content[1] == Text(text="short")
    assert isinstance(result.content[0], Text)
    assert CUT.search(result.content[0].text)
    assert 300 < len(result.content[0].text.encode()) < 600


def test_binary_data_goes_as_a_whole_and_says_so() -> None:
    """The largest first; a small one stays."""
    small = Binary(mime_type="image/png", data=b"x" * 100)
    result = fitted({"a": "b"}, (Binary(mime_type="image/png", data=b"x" * 5000), small))
    assert result.content == (Text(text="[5000 bytes of binary content were too large and were left out.]"), small)
    assert result.structured == {"a": "b"}


@pytest.mark.parametrize("value", [list(range(1000)), ["ab"] * 1000, {str(index): None for index in range(1000)}])
def test_what_cannot_be_shortened_is_left_out_and_says_so(value: Any) -> None:
    """Half a list would look like a whole one."""
    result = fitted(value, (Text(text="kept"),))
    assert result.structured is None
    assert result.paths == ("",)
    assert isinstance(result.content[0], Text)
    assert "left out" in result.content[0].text
    assert result.content[1:] == (Text(text="kept"),)


def test_a_value_of_very_many_parts_is_not_walked() -> None:
    """It is left out as a whole."""
    assert fitted([["x" * 100]] * MAX_NODES).structured is None


def test_paths_are_bounded() -> None:
    """The evidence must not be a result of its own."""
    assert len(fitted([f"{'x' * 300}"] * 100, max_bytes=10_000).paths) == MAX_PATHS


@pytest.mark.parametrize("filler", ["x", "é", "漢", "🎉", "\n", "\0", "\\", '"', "\u2028", "\x7f"])
def test_no_cut_inside_a_character_or_an_escape(filler: str) -> None:
    """At every limit the string is a beginning and an end of it, says what is missing, and takes no more than that."""
    text = filler * 100
    for limit in range(MIN_STRING, 90):
        short = cut_string(text, limit)
        found = CUT.search(short)
        assert found is not None
        head, tail = short[: found.start()], short[found.end() :]
        assert text.startswith(head)
        assert text.endswith(tail)
        assert int(found[1]) == len(text.encode()) - len(head.encode()) - len(tail.encode())
        assert limit - 16 <= len(orjson.dumps(short)) - 2 <= limit


@pytest.mark.parametrize("filler", ["x", "é", "漢", "🎉"])
def test_a_text_keeps_its_beginning_and_its_end(filler: str) -> None:
    """What a log says first and last is what matters most; the bytes between are counted."""
    text = "first" + filler * 5000 + "last"
    block = fitted(None, (Text(text=text),), 600).content[0]
    assert isinstance(block, Text)
    found = CUT.search(block.text)
    assert found is not None
    assert block.text.startswith("first")
    assert block.text.endswith("last")
    assert int(found[1]) + len(block.text.encode()) - len(found[0].encode()) == len(text.encode())


def test_an_escape_is_not_read_as_text_at_the_end() -> None:
    """The second half of one would look like words of the vendor's."""
    for limit in range(MIN_STRING, MIN_STRING + 12):
        short = cut_string("\x01" * 100, limit)
        assert set(CUT.sub("", short)) <= {"\x01"}


def test_no_cut_inside_a_scrub_marker() -> None:
    """A half marker would read like something of the vendor's."""
    for before in range(60):
        for text in ("x" * before + MARKER + "y" * 100, "y" * 100 + MARKER + "x" * before):
            short = CUT.sub("", cut_string(text, 64))
            assert MARKER in short or not set("[]redact") & set(short)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.text(st.characters(codec="utf-8"), max_size=200),
    lambda inner: (
        st.lists(inner, max_size=8)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=8)
    ),
    max_leaves=40,
)


@given(value=VALUES, text=st.text(st.characters(codec="utf-8"), max_size=900), max_bytes=st.integers(512, 2000))
@settings(max_examples=200, deadline=None)
def test_whatever_it_is_it_fits_and_is_json(value: Any, text: str, max_bytes: int) -> None:
    """And keeps its shape unless it was dropped."""
    result = fitted(value, (Text(text=text),), max_bytes)
    if result.structured is not None:
        assert _shape(json.loads(result.serialised)) == _shape(value)


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shape(item) for item in value]
    return type(value)
