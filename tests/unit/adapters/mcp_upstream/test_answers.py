"""A server's result as an output."""

from typing import Any

import pytest
from fakes.mcp_sessions import published, recipe_of, said

from adapters.base import AdapterError, ErrorKind, Happened, Output, SideEffect, Text
from adapters.mcp_upstream.answers import output_of
from adapters.mcp_upstream.blocks import MAX_BYTES
from adapters.mcp_upstream.options import accepted_by

EFFECTS = (SideEffect.WRITE, SideEffect.SEND)
WORDS = "ENOENT: /srv/secret/plans.txt"


def read(result: dict[str, Any], side_effect: SideEffect = SideEffect.READ, **row: Any) -> Output:
    """The output of a row's tool."""
    return output_of(result, accepted_by(recipe_of(published(), side_effect=side_effect, **row)))


def refused(result: dict[str, Any], side_effect: SideEffect = SideEffect.READ, **row: Any) -> AdapterError:
    """The error that a result is."""
    with pytest.raises(AdapterError) as caught:
        read(result, side_effect, **row)
    assert WORDS not in f"{caught.value} {caught.value.message}"
    assert 0 < len(caught.value.message) <= 300
    return caught.value


def test_a_result_of_texts_is_content_alone() -> None:
    """And nothing structured."""
    output = read(said("hello"))
    assert (output.structured, output.content, output.cut) == (None, (Text(text="hello"),), None)
    assert output.receipt == "mail_send: called it."


@pytest.mark.parametrize("structured", [{"a": 1}, [1], "x", 7, False, {}, {"is_error": True}])
def test_structured_content_is_the_structured_output(structured: Any) -> None:
    """As it stands: the row's schema judges it."""
    assert read({"content": [], "structuredContent": structured}).structured == structured
    assert read({"structuredContent": structured}).structured == structured


def test_a_text_that_repeats_the_structured_content_is_left_out() -> None:
    """Whatever its layout; another text is not."""
    content = [{"type": "text", "text": text} for text in ('{\n "a": [1]}', "a is 1", '{"a":[2]}', "{")]
    output = read({"content": content, "structuredContent": {"a": [1]}})
    assert [block.text for block in output.content if isinstance(block, Text)] == ["a is 1", '{"a":[2]}', "{"]
    assert output.receipt == "mail_send: called it."


def test_a_read_that_failed_says_so_in_the_servers_words() -> None:
    """As content, which is labelled: the model has to know what was wrong."""
    output = read(said(WORDS, isError=True, structuredContent={"code": 7}))
    assert output.structured == {"is_error": True}
    assert output.content == (Text(text=WORDS),)
    assert output.receipt == "mail_send: called it, and it says that it failed."


def test_a_read_with_an_output_schema_that_failed_is_an_error() -> None:
    """In our own words: the schema would not let the server's through."""
    error = refused(said(WORDS, isError=True), output_schema={"type": "object"})
    assert (error.kind, error.happened) == (ErrorKind.INVALID, Happened.NO)


@pytest.mark.parametrize("side_effect", EFFECTS)
@pytest.mark.parametrize("schema", [None, {"type": "object"}])
def test_whether_an_effect_that_failed_has_happened_is_unknown(side_effect: SideEffect, schema: Any) -> None:
    """A tool may fail when it has done half of it."""
    error = refused(said(WORDS, isError=True), side_effect, output_schema=schema)
    assert (error.kind, error.happened) == (ErrorKind.INVALID, Happened.UNKNOWN)


DEEP: dict[str, Any] = {}
for _ in range(400):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ({}, ErrorKind.MALFORMED),
        ({"content": "hello"}, ErrorKind.MALFORMED),
        ({"content": {"type": "text"}, "structuredContent": {}}, ErrorKind.MALFORMED),
        ({"content": [], "isError": "false"}, ErrorKind.MALFORMED),
        ({"content": [], "isError": None}, ErrorKind.MALFORMED),
        ({"task": {"taskId": "1"}}, ErrorKind.MALFORMED),
        ({"content": [], "structuredContent": DEEP}, ErrorKind.MALFORMED),
        ({"resultType": "input_required", "inputRequests": {}}, ErrorKind.FORBIDDEN),
        ({"content": [], "resultType": {}}, ErrorKind.FORBIDDEN),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_no_result_tells_nothing_of_an_effect(result: dict[str, Any], kind: ErrorKind) -> None:
    """And is an error of a read."""
    assert (refused(result).kind, refused(result).happened) == (kind, Happened.NO)
    for side_effect in EFFECTS:
        error = refused(result, side_effect)
        assert (error.kind, error.happened) == (kind, Happened.UNKNOWN)


def test_structured_content_beyond_the_bound_is_too_large() -> None:
    """What was done was done."""
    large = {"content": [], "structuredContent": {"a": "x" * MAX_BYTES}}
    assert (refused(large).kind, refused(large).happened) == (ErrorKind.TOO_LARGE, Happened.NO)
    error = refused(large, SideEffect.SEND)
    assert (error.kind, error.happened) == (ErrorKind.TOO_LARGE, Happened.YES)


def test_a_failure_of_any_size_is_a_failure() -> None:
    """Of which nobody says that it was done."""
    large = {"content": [], "isError": True, "structuredContent": {"a": "x" * MAX_BYTES}}
    assert refused(large, SideEffect.SEND).happened is Happened.UNKNOWN
    assert read(large).structured == {"is_error": True}


def test_structured_content_and_blocks_share_one_bound() -> None:
    """Blocks that do not fit any more are left out."""
    content = [{"type": "text", "text": "x" * 100}, {"type": "text", "text": "y"}]
    output = read({"content": content, "structuredContent": "z" * (MAX_BYTES - 50)})
    assert output.content == (Text(text="y"),)
    assert output.cut is not None
    assert output.cut.read_bytes < output.cut.seen_bytes
    assert output.receipt == "mail_send: called it; 1 parts of its answer were left out."


def test_nothing_of_a_server_is_in_a_receipt() -> None:
    """It is ours."""
    for result in (said(WORDS), said(WORDS, isError=True), {"content": [{"type": WORDS}]}):
        assert WORDS not in read(result).receipt
