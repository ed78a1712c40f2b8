"""The chains of lines: sealing one, and seeing through one that was not sealed so."""

import hashlib
from collections.abc import Callable

import orjson
import pytest

from gateway.audit.chain import (
    GENESIS,
    BadLine,
    Chains,
    Head,
    Link,
    Mark,
    Sealing,
    file_name,
    first_seq,
    follow,
    own_of,
    unseal,
)

START = Head("w1", 4, GENESIS)
FIELDS = b'{"tenant":"acme","tool":"echo"'


def _chains() -> Chains:
    return Chains(START, 4, {})


def _sealed(fields: bytes = FIELDS) -> bytes:
    return Sealing(_chains()).line(fields, "acme")


def test_a_sealed_line_names_writer_number_and_the_hash_before() -> None:
    """The chain fields come last, and the hash covers the bytes before it."""
    raw = _sealed()
    value = orjson.loads(raw)
    assert list(value) == ["tenant", "tool", "writer", "seq", "prev", "tenant_seq", "tenant_prev", "hash"]
    assert (value["writer"], value["seq"], value["prev"]) == ("w1", 5, GENESIS)
    assert own_of(value) == ("acme", 5, GENESIS)
    body = raw[: raw.rindex(b',"hash"')]
    assert value["hash"] == hashlib.sha256(body).hexdigest()
    assert follow(raw, START) == (value, Head("w1", 5, value["hash"]))


def test_each_tenant_has_a_chain_of_its_own() -> None:
    """Without a gap, whatever stands between; and the chains follow what they sealed."""
    chains = Chains.begun("w1", 0)
    sealing = Sealing(chains)
    lines = [sealing.line(b'{"tenant":"%b"' % tenant, tenant.decode()) for tenant in (b"a", b"b", b"a", b"a", b"b")]
    assert chains.tenants == {}, "nothing is taken over before it is durable"
    reader = Chains.begun("w1", 0)
    values = [reader.follow(raw) for raw in lines]
    assert [own_of(value)[:2] for value in values] == [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2)]
    assert values[2]["tenant_prev"] == values[0]["hash"]
    sealing.done()
    assert (chains.head, chains.tenants) == (reader.head, reader.tenants)
    assert chains.tenants["a"] == Link(3, values[3]["hash"])


def test_a_line_must_follow_the_one_before_of_its_tenant() -> None:
    """Even when it follows in the chain of all lines; and chains that refuse a line are as before."""
    chains = Chains.begun("w1", 0)
    sealing = Sealing(chains)
    first = sealing.line(b'{"tenant":"a"', "a")
    other = Chains(sealing.head, 0, {})
    for own, why in (({}, "is line 1 of its tenant where 2"), ({"a": Link(1, "f" * 64)}, "of its tenant: that one")):
        forged = Sealing(Chains(other.head, 0, own)).line(b'{"tenant":"a"', "a")
        reader = Chains.begun("w1", 0)
        reader.follow(first)
        before = reader.head, dict(reader.tenants)
        with pytest.raises(BadLine, match=why):
            reader.follow(forged)
        assert (reader.head, reader.tenants) == before


def test_a_line_without_a_place_among_its_tenants_is_bad() -> None:
    """It is told of, and no crash."""
    for value in ({}, {"tenant": "a", "tenant_seq": True, "tenant_prev": ""}, {"tenant": 1}):
        with pytest.raises(BadLine, match="lacks a tenant"):
            own_of(value)


@pytest.mark.parametrize("tenants", [None, [], {"a": [0, "x"]}, {"a": "x"}, {"a": [1]}])
def test_a_segment_record_must_say_where_the_chains_stand(tenants: object) -> None:
    """Anything else cannot be resumed from."""
    with pytest.raises(BadLine, match="does not say where"):
        Chains.at_segment({"base": 0, "tenants": tenants}, START)


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
    raw = _sealed()
    with pytest.raises(BadLine, match=why):
        unseal(damage(raw))


@pytest.mark.parametrize("fields", [b'{"tool":"a","tool":"b"', b'{"tool": "a"', b"nonsense", b'["tool"', b'{"a":NaN'])
def test_a_line_that_the_gateway_would_not_write_is_bad_even_with_a_right_hash(fields: bytes) -> None:
    """A key twice, spaces, what is not JSON: the bytes must be those that serialising gives."""
    raw = _sealed(fields)
    with pytest.raises(BadLine):
        unseal(raw)


def test_a_line_must_follow_the_one_before() -> None:
    """Another writer, a gap, another predecessor: each is told apart."""
    raw = _sealed()
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
    chains = Chains(START, 4, {"acme": Link(5, "a" * 64)})
    raw = Sealing(chains).segment(Mark("audit-1.jsonl", 77), is_abandoned=True)
    value, head = unseal(raw)
    assert value["continues"] == {"file": "audit-1.jsonl", "seq": 4, "hash": GENESIS, "offset": 77}
    assert (value["kind"], value["abandoned"]) == ("segment", True)
    again = Chains.at_segment(value, head)
    assert (again.base, again.tenants) == (4, chains.tenants)
    assert chains.follow(raw) == value
