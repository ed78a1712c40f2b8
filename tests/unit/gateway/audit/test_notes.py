"""Signed notes, as other implementations write and read them."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gateway.audit.notes import BadNote, Note, VerificationKey, is_key_name, notes_in, signed, signer_of

VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
SIGNATURE = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
)


def _key(name: str, seed: int = 1) -> tuple[VerificationKey, Ed25519PrivateKey]:
    private = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    return VerificationKey(name, private.public_key().public_bytes_raw()), private


def _note(text: str, name: str = "k", seed: int = 1) -> Note:
    key, private = _key(name, seed)
    return signed(text, key, private.sign(text.encode()))


def test_a_note_of_another_implementation_verifies() -> None:
    """The example of Go's `note` package, key and all."""
    key = VerificationKey.parsed(VKEY)
    assert str(key) == VKEY
    (note,) = notes_in(f"{TEXT}\n{SIGNATURE}\n")
    assert note == Note(TEXT, (SIGNATURE,))
    assert signer_of(note, [key]) == key


def test_what_we_sign_is_what_they_would_write() -> None:
    """Text, an empty line, a dash, the name, and the key's id before the signature."""
    key, _private = _key("gw1.example.com/audit")
    note = _note("one\ntwo\n", key.name)
    body, line = str(note).split("\n\n")
    assert body == "one\ntwo"
    assert line.startswith("— gw1.example.com/audit ")
    assert base64.b64decode(line.split()[2])[:4] == key.id
    assert signer_of(note, [key]) == key


def test_a_changed_note_is_bad_and_a_strangers_is_nobodys() -> None:
    """Only who names a known key and did not sign is a finding."""
    key, _private = _key("k")
    note = _note("text\n")
    with pytest.raises(BadNote, match="does not match"):
        signer_of(Note("other\n", note.signatures), [key])
    assert signer_of(_note("text\n", seed=2), [key]) is None
    assert signer_of(_note("text\n", name="j"), [key]) is None


@pytest.mark.parametrize(
    "vkey", ["", "k", "k+00000000+AAAA", VKEY[:-1], VKEY.replace("c74f", "c74e"), f"a b{VKEY}", "k+x+ÄÄ"]
)
def test_what_is_no_key_is_told(vkey: str) -> None:
    """Cut off, mistyped, of another kind."""
    with pytest.raises(BadNote, match="verification key"):
        VerificationKey.parsed(vkey)


def test_notes_follow_one_another_in_a_file() -> None:
    """What a crash cut off is passed over, wherever it was cut."""
    first, second = _note("one\n"), _note("two\n")
    whole = f"{first}\n{second}\n"
    assert list(notes_in(whole)) == [first, second]
    for cut in range(1, len(str(first))):
        assert list(notes_in(f"{str(first)[:cut]}\n\n{second}\n"))[-1] == second
    assert list(notes_in("")) == []


def test_key_names_are_one_word() -> None:
    """A plus would end it."""
    assert is_key_name("gw1.example.com/audit")
    assert not any(map(is_key_name, ["", "a b", "a+b", "a\n", "a\x00"]))
