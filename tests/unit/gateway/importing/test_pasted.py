"""Credentials that somebody has pasted into a description."""

import time

import pytest

from gateway.importing.pasted import HIDDEN, is_pasted, shown_url, without_own_default, without_pasted

KEYS = (
    "sk_live" + "_51H8abcdefghijklmnop",
    "ghp" + "_abcdefghijklmnopqrstuvwxyz0123456789",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "xoxb" + "-123456789012-abcdefghij",
    "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "hvs" + ".CAESIJ0abcdefghijklmno",
)


@pytest.mark.parametrize("key", KEYS)
def test_a_known_key_is_taken_out(key: str) -> None:
    """Wherever it stands in a text."""
    assert is_pasted(key)
    assert is_pasted(["a", key])
    assert without_pasted(f"Such as '{key}'.") == f"Such as '{HIDDEN}'."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-H 'Authorization: Bearer abc123def456ghi7' x", f"-H 'Authorization: Bearer {HIDDEN}' x"),
        ("Authorization: Basic Ym9iOmh1bnRlcjI=", f"Authorization: Basic {HIDDEN}"),
        ("at https://bob:hunter2@example.com/x", f"at https://{HIDDEN}@example.com/x"),
        ("-----BEGIN RSA PRIVATE KEY----- abc -----END RSA PRIVATE KEY----- x", f"{HIDDEN} x"),
    ],
)
def test_what_is_said_to_be_one_is_taken_out(text: str, shown: str) -> None:
    """By what stands around it."""
    assert without_pasted(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Give a bearer token with the request.",
        "Authorization: Bearer YOUR_ACCESS_TOKEN",
        "Basic authentication",
        "the task_id of sk_live",
        "https://example.com:8443/a@b",
        "ask_for_something_quite_long",
    ],
)
def test_words_stay(text: str) -> None:
    """They are no credential."""
    assert without_pasted(text) == text
    assert not is_pasted(text)


def test_a_hostile_text_takes_no_time() -> None:
    """Whatever it repeats."""
    begun = time.process_time()
    for part in ("bearer ", "://a:", "-----BEGIN PRIVATE KEY-----", "eyJaaaaaaaa.", "sk-", "bearer aaaaaaaaaaaaa"):
        without_pasted(part * (4000 // len(part)))
    assert time.process_time() - begun < 1


def test_what_calls_itself_a_credential_has_no_usual_value() -> None:
    """A number may stay: of such a name it is a count or a limit."""
    text = {"type": "string", "default": "hunter2"}
    assert without_own_default("api_key", text) == {"type": "string"}
    assert without_own_default("userPassword", text) == {"type": "string"}
    assert without_own_default("sort", text) == text
    assert without_own_default("max_tokens", {"type": "integer", "default": 5})["default"] == 5


def test_a_url_is_shown_without_what_may_be_secret() -> None:
    """Where it leads is still to be seen."""
    assert shown_url("https://bob:hunter2@example.com/a?token=x#y") == "https://…example.com/a?…"
    assert shown_url("https://example.com/a") == "https://example.com/a"
