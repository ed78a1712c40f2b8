"""The chain of lines: sealing one, and seeing through one that was not sealed so."""

import hashlib
from collections.abc import Callable

import orjson
import pytest

from gateway.audit.chain import GENESIS, BadLine, Head, Mark, file_name, first_seq, follow, seal, segment_fields, unseal

START = Head("w1", 4, GENESIS)


def test_a_sealed_line_names_writer_number_and_the_hash_before() -> None:
    """The chain fields come last, and the hash covers the bytes before it."""
    raw, head = seal(b'{"tool":"echo"', START)
    value = orjson.loads(raw)
    assert list(value) == ["tool", "writer", "seq", "prev", "hash"]
    assert (value["writer"], value["seq"], value["prev"]) == ("w1", 5, GENESIS)
    body = raw[: raw.rindex(b',"hash"')]
    assert value["hash"] == hashlib.sha256(body).hexdigest() == head.hash
    assert follow(raw, START) == (value, head)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda raw: raw.replace(b"echo", b"mail"), "was changed"),
        (lambda raw: raw[:-1], "middle of a line"),
        (lambda raw: raw[:-40] + b"\n", "no hash"),
        (lambda raw: b"\n", "no hash"),
        (lambda raw: b"\xff\xfe garbage\n", "no hash"),
        (lambda raw: raw.replace(b'"hash":"', b'"hash":"0'), "no hash"),
    ],
)
def test_a_damaged_line_is_bad(damage: Callable[[bytes], bytes], why: str) -> None:
    """Whatever was done to it, it is a finding and never a crash."""
    raw, _head = seal(b'{"tool":"echo"', START)
    with pytest.raises(BadLine, match=why):
        unseal(damage(raw))


@pytest.mark.parametrize("fields", [b'{"tool":"a","tool":"b"', b'{"tool": "a"', b"nonsense", b'["tool"', b'{"a":NaN'])
def test_a_line_that_the_gateway_would_not_write_is_bad_even_with_a_right_hash(fields: bytes) -> None:
    """A key twice, spaces, what is not JSON: the bytes must be those that serialising gives."""
    raw, _head = seal(fields, START)
    with pytest.raises(BadLine):
        unseal(raw)


def test_a_line_must_follow_the_one_before() -> None:
    """Another writer, a gap, another predecessor: each is told apart."""
    raw, _head = seal(b'{"tool":"echo"', START)
    for head, why in (
        (Head("w2", 4, GENESIS), "another gateway"),
        (Head("w1", 3, GENESIS), "sequence number 5 where 4 was due"),
        (Head("w1", 4, "f" * 64), "does not follow"),
    ):
        with pytest.raises(BadLine, match=why):
            follow(raw, head)


def test_a_file_is_named_after_its_first_line() -> None:
    """Names sort as numbers do."""
    assert first_seq(file_name(17)) == 17
    assert file_name(9) < file_name(10) < file_name(10**11)


def test_a_segment_record_says_which_file_it_continues() -> None:
    """With the last number, hash and byte that count there."""
    raw, _head = seal(segment_fields(START, Mark("audit-1.jsonl", 77), is_abandoned=True), START)
    value, _head = unseal(raw)
    assert value["continues"] == {"file": "audit-1.jsonl", "seq": 4, "hash": GENESIS, "offset": 77}
    assert (value["kind"], value["abandoned"]) == ("segment", True)
