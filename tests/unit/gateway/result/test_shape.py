"""Step 13: from an adapter's output to a result."""

import base64
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from fakes.rows import tool

from adapters.base import ArgumentIssue, Binary, Cut, Output, Secret, Text
from gateway.call import Obligation
from gateway.errors import Reason, Refusal
from gateway.result.scrub import MARKER
from gateway.result.shape import Shaping, shape, shaping_of, whole_of
from gateway.rows import Sensitivity, Trust

SECRET = "s3cr3t-Pa55"


class FakeSchema:
    """Wants an object whose `name` is a string; knows what was asked of it."""

    def __init__(self, max_name: int = 10_000_000) -> None:
        self.max_name = max_name
        self.asked: list[Any] = []

    def is_valid(self, value: Any) -> bool:
        """Whether the value keeps to it."""
        self.asked.append(value)
        return isinstance(value, dict) and isinstance(value.get("name"), str) and len(value["name"]) <= self.max_name

    def issues(self, value: Any) -> tuple[ArgumentIssue, ...]:
        """One issue."""
        return (ArgumentIssue(path="/name", rule="type", message="must be text"),)

    def problems(self, value: Any) -> list[str]:
        """One sentence."""
        return ["/name must be text"]

    def complete(self, value: dict[str, Any], *, may_hold_null: bool) -> dict[str, Any]:
        """The value."""
        return value


def shaping(schema: FakeSchema | None = None, **changes: Any) -> Shaping:
    """The shaping of the usual tool, changed as asked."""
    return shaping_of(tool(**changes), schema)


def test_an_output_becomes_a_result() -> None:
    """Structured output as JSON bytes, blocks and receipt as they are."""
    output = Output(structured={"name": "Ann", "n": 9007199254740993}, content=(Text(text="Hi"),), receipt="Done.")
    result = shape(output, shaping(FakeSchema()), ())
    assert result.structured_json == b'{"name":"Ann","n":9007199254740993}'
    assert result.content == (Text(text="Hi"),)
    assert (result.receipt, result.truncation, result.labels) == ("Done.", None, ())
    assert (result.redacted_paths, result.scrubbed) == ((), 0)


def test_a_credential_is_taken_out_of_every_part() -> None:
    """And each find is counted."""
    encoded = base64.b64encode(f"bot:{SECRET}".encode()).decode()
    output = Output(
        structured={"name": f"x{SECRET}", encoded: 1},
        content=(Text(text=SECRET), Binary(mime_type="a/b", data=SECRET.encode())),
        receipt=f"Used {SECRET}.",
    )
    result = shape(output, shaping(FakeSchema()), (Secret(SECRET),))
    shown = repr((result.structured_json, [vars_of(block) for block in result.content], result.receipt))
    assert SECRET not in shown
    assert encoded not in shown
    assert result.scrubbed == 5


def vars_of(block: Text | Binary) -> object:
    """What a block holds; its repr hides it."""
    return block.text if isinstance(block, Text) else block.data


def test_an_output_that_breaks_its_schema_is_refused() -> None:
    """The refusal names the path and the rule, and no value."""
    with pytest.raises(Refusal) as caught:
        shape(Output(structured={"name": 5, "other": "private"}), shaping(FakeSchema()), ())
    assert caught.value.reason is Reason.OUTPUT_INVALID
    assert "/name (type)" in caught.value.message
    assert "private" not in caught.value.message


def test_the_schema_sees_the_value_after_scrubbing_and_before_redaction() -> None:
    """It judges the vendor's answer, not what our own rules took out; and it sees no secret."""
    schema = FakeSchema()
    output = Output(structured={"name": "Ann", "note": SECRET})
    result = shape(output, shaping(schema, redactions=("/name",)), (Secret(SECRET),))
    assert schema.asked == [{"name": "Ann", "note": MARKER}]
    assert orjson.loads(result.structured_json) == {"name": MARKER, "note": MARKER}
    assert result.redacted_paths == ("/name",)


def test_a_missing_structured_part_breaks_a_schema_unless_there_is_nothing_else() -> None:
    """An effect that happened, with an answer that cannot be used, still has its receipt."""
    assert shape(Output(receipt="Done."), shaping(FakeSchema()), ()).receipt == "Done."
    with pytest.raises(Refusal):
        shape(Output(content=(Text(text="x"),)), shaping(FakeSchema()), ())


@pytest.mark.parametrize(
    "value", [{"a": object()}, {1: "a"}, {"a": "\ud800"}, {"a": datetime.now(UTC)}, {"a": 2**70}, b"x"]
)
def test_what_is_not_json_is_refused(value: Any) -> None:
    """An adapter must bring JSON."""
    with pytest.raises(Refusal) as caught:
        shape(Output(structured=value), shaping(), ())
    assert caught.value.reason is Reason.OUTPUT_INVALID


def test_text_that_is_not_unicode_travels_all_the_same() -> None:
    """Lone surrogates become question marks, in blocks and receipt."""
    result = shape(Output(content=(Text(text="a\ud800b"),), receipt="c\udfff"), shaping(), ())
    assert result.content == (Text(text="a?b"),)
    assert result.receipt == "c?"


def test_a_receipt_is_bounded() -> None:
    """It is one sentence."""
    assert len(shape(Output(receipt="x" * 9999), shaping(), ()).receipt.encode()) <= 1024


def test_g03_five_mebibytes_of_a_vendor_become_a_valid_result_under_the_cap() -> None:
    """With evidence of how much is missing and where, also when the adapter itself stopped reading."""
    size = 5 * 1024 * 1024
    output = Output(structured={"name": "x" * size, "n": 1}, content=(Text(text="y" * size),), receipt="Done.")
    result = shape(output, shaping(FakeSchema()), ())
    total = len(result.structured_json) + sum(len(block.text) for block in result.content if isinstance(block, Text))
    assert result.truncation is not None
    assert total <= 262144 + 8
    assert orjson.loads(result.structured_json)["n"] == 1
    assert (result.truncation.limit, result.truncation.paths) == ("result_bytes", ("/name",))
    assert result.truncation.original_bytes > 2 * size
    assert result.truncation.kept_bytes <= 262144
    assert result.truncation.is_at_least is False


def test_a_cut_by_the_adapter_is_told() -> None:
    """It is a lower bound; our own cap on top names itself."""
    cut = Cut(read_bytes=100, seen_bytes=900_000)
    alone = shape(Output(structured={"a": "x"}, cut=cut), shaping(), ()).truncation
    both = shape(Output(structured={"a": "x" * 300_000}, cut=cut), shaping(), ()).truncation
    assert alone is not None
    assert both is not None
    assert (alone.limit, alone.original_bytes, alone.kept_bytes, alone.is_at_least) == (
        "vendor_bytes",
        900_000,
        100,
        True,
    )
    assert (both.limit, both.original_bytes, both.is_at_least) == ("result_bytes", 900_000, True)


def test_a_cut_that_breaks_the_schema_leaves_the_structured_part_out() -> None:
    """The text says so; half an answer that looks whole would be worse."""
    schema = FakeSchema()

    class Exact(FakeSchema):
        """Wants names to end in x."""

        def is_valid(self, value: Any) -> bool:
            """Whether it does."""
            return super().is_valid(value) and set(value["name"]) == {"x"}

    output = Output(structured={"name": "x" * 300_000})
    result = shape(output, shaping(Exact()), ())
    assert result.structured_json == b""
    assert isinstance(result.content[0], Text)
    assert "left out" in result.content[0].text
    assert shape(output, shaping(schema), ()).structured_json != b""


def test_labels_come_from_the_row() -> None:
    """For the whole and for fields."""
    labels = shaping(
        trust=Trust.UNTRUSTED,
        sensitivity=Sensitivity.PRIVATE,
        field_trust={"/body": Trust.MEMBER},
        field_sensitivity={"/email": Sensitivity.PRIVATE},
    ).labels
    assert labels == ("untrusted", "private", "member:/body", "private:/email")


def test_obligations_make_it_stricter() -> None:
    """More paths, fewer bytes, not trusted; never the other way round."""
    base = shaping(redactions=("/a",), max_result_bytes=2048)
    strict = base.under(
        (
            Obligation(type="redact", value={"paths": ["/b", "/c/*"]}),
            Obligation(type="max_result_bytes", value=1000.0),
            Obligation(type="mark_untrusted", value=True),
            Obligation(type="require_key", value=True),
        )
    )
    assert [redaction.pointer for redaction in strict.redactions] == ["/a", "/b", "/c/*"]
    assert (strict.max_bytes, strict.labels) == (1000, ("untrusted",))
    assert base.under((Obligation(type="max_result_bytes", value=10**7),)).max_bytes == 2048
    assert base.under((Obligation(type="max_result_bytes", value=1),)).max_bytes == 512
    assert strict.under((Obligation(type="mark_untrusted", value=True),)).labels == ("untrusted",)


# The whole of what was cut.


def _keeping(kept: list[bytes], artifact_id: str = "a1") -> Any:
    def keep(whole: bytes) -> str:
        kept.append(whole)
        return artifact_id

    return keep


def test_what_is_cut_is_kept_whole_and_its_id_told() -> None:
    """As it would have been sent without a cap."""
    kept: list[bytes] = []
    result = shape(Output(structured={"name": "x" * 300_000}), shaping(), (), _keeping(kept))
    assert kept == [b'{"name":"' + b"x" * 300_000 + b'"}']
    assert result.truncation is not None
    assert result.truncation.artifact_id == "a1"


def test_what_is_not_cut_is_not_kept() -> None:
    """Nobody needs it twice."""
    kept: list[bytes] = []
    assert shape(Output(structured={"name": "x"}), shaping(), (), _keeping(kept)).truncation is None
    assert not kept


def test_nothing_is_kept_that_an_agent_may_not_see() -> None:
    """Credentials are out of it, and what is redacted; an artifact is read without any of that."""
    kept: list[bytes] = []
    made = shaping_of(tool(redactions=("/private",)), None)
    output = Output(structured={"name": "x" * 300_000, "private": "whisper", "token": SECRET})
    shape(output, made, (Secret(SECRET),), _keeping(kept))
    assert b"whisper" not in kept[0]
    assert SECRET.encode() not in kept[0]
    assert b"x" * 300_000 in kept[0]


def test_what_policy_cuts_is_not_kept() -> None:
    """Its bound would be none if the rest could be read in parts."""
    kept: list[bytes] = []
    bounded = shaping().under((Obligation(type="max_result_bytes", value=600),))
    result = shape(Output(structured={"name": "x" * 3000}), bounded, (), _keeping(kept))
    assert result.truncation is not None
    assert (kept, result.truncation.artifact_id) == ([], "")


def test_what_cannot_be_kept_fails_no_call() -> None:
    """The evidence says that there is no more."""

    def keep(_: bytes) -> str:
        raise OSError("the disk")

    result = shape(Output(structured={"name": "x" * 300_000}), shaping(), (), keep)
    assert result.truncation is not None
    assert (result.truncation.artifact_id, result.structured_json != b"") == ("", True)


def test_a_whole_of_one_part_is_that_part_and_one_of_several_is_json() -> None:
    """Text and bytes as they are; a document of all parts otherwise."""
    text, data = Text(text="é"), Binary(mime_type="image/png", data=b"\x89")
    assert whole_of(b'{"a":1}', ()) == b'{"a":1}'
    assert whole_of(b"", (text,)) == "é".encode()
    assert whole_of(b"", (data,)) == b"\x89"
    assert orjson.loads(whole_of(b'{"a":1}', (text, data))) == {
        "structured": {"a": 1},
        "content": [{"text": "é"}, {"mime_type": "image/png", "data_base64": "iQ=="}],
    }
    assert orjson.loads(whole_of(b"", (text, text)))["structured"] is None
