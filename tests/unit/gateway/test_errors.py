"""The closed set of reasons, and messages that fit."""

import pytest

from gateway.errors import (
    CODE_OF,
    MESSAGE_BYTES,
    Code,
    Reason,
    Refusal,
    Refused,
    RefusedKind,
    StartError,
    cut_message,
)


def test_every_reason_has_a_code_and_every_code_a_reason() -> None:
    """The table is total both ways."""
    assert set(CODE_OF) == set(Reason)
    assert set(CODE_OF.values()) == set(Code)


def test_a_refusals_text_is_its_reason_alone() -> None:
    """What is logged or shown by accident holds no message and no argument."""
    refusal = Refusal(Reason.POLICY_DENIED, "Not for you, Ann.")
    assert str(refusal) == "policy_denied"
    assert "Ann" not in repr(refusal)
    assert (refusal.message, refusal.code) == ("Not for you, Ann.", Code.PERMISSION_DENIED)


@pytest.mark.parametrize("text", ["", "short", "x" * MESSAGE_BYTES, "ä" * (MESSAGE_BYTES // 2)])
def test_a_message_that_fits_is_kept(text: str) -> None:
    """Up to 512 bytes of UTF-8."""
    assert cut_message(text) == text


@pytest.mark.parametrize("letter", ["x", "ä", "€", "😀"])
def test_a_message_that_does_not_fit_is_cut_between_characters(letter: str) -> None:
    """At most 512 bytes, valid UTF-8, and it shows that it was cut."""
    cut = cut_message(letter * 1000)
    assert len(cut.encode()) <= MESSAGE_BYTES
    assert cut == letter * (len(cut) - 1) + "…"


def test_a_message_with_half_a_character_can_still_be_sent() -> None:
    """A lone surrogate has no UTF-8; it becomes a question mark."""
    assert cut_message("a\ud800b") == "a?b"
    assert Refusal(Reason.INTERNAL, "a\ud800b").message == "a?b"


def test_a_start_error_lists_its_problems() -> None:
    """One sentence and what is to be put right."""
    error = StartError("it does not start", ("a:1: x", "b:2: y"))
    assert (error.message, error.problems, str(error)) == (
        "it does not start",
        ("a:1: x", "b:2: y"),
        "it does not start",
    )


@pytest.mark.parametrize("kind", RefusedKind)
def test_a_refused_request_says_of_what_kind_it_is(kind: RefusedKind) -> None:
    """And keeps its sentence, cut as every other."""
    refused = Refused(kind, "x" * 1000)
    assert (refused.kind, len(refused.message.encode())) == (kind, MESSAGE_BYTES)
    assert str(refused).startswith(f"{kind.value}: ")
