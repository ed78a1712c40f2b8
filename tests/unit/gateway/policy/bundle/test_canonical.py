"""Digests of files; that they equal OPA's is tested against OPA itself."""

import hashlib

import pytest

from gateway.policy.base import PolicyUnusable
from gateway.policy.bundle.canonical import canonical, file_digest


def test_a_policy_is_hashed_as_it_is() -> None:
    """Every byte counts."""
    assert file_digest("lib/a.rego", b"package a\n") == hashlib.sha256(b"package a\n").hexdigest()
    assert file_digest("a.json", b"{ }") == hashlib.sha256(b"{ }").hexdigest()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            b' { "b" : [ 1.0 , 1e3, -0, 12345678901234567890 ] , "a" : null } ',
            b'{"a":null,"b":[1.0,1e3,-0,12345678901234567890]}',
        ),
        ('{"\u00e9": "\\u00e9\\u2028<&>\\u0007\\b\\u007f\\/"}'.encode(), '{"é":"é\\u2028<&>\\u0007\\b\x7f/"}'.encode()),
        ('{"\U0001f600": 1, "\uffff": 2}'.encode(), '{"\uffff":2,"\U0001f600":1}'.encode()),
        (b"[true, false, {}, []]", b"[true,false,{},[]]"),
    ],
)
def test_data_is_hashed_in_one_form(content: bytes, expected: bytes) -> None:
    """White space and order do not count; how a number is written does."""
    assert canonical("data.json", content) == expected
    assert file_digest("x/data.json", content) == hashlib.sha256(expected).hexdigest()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"b: 1.50\na: 1e3", b'{"a":1000,"b":1.5}'),
        (b"a: [1.0e+21, 1.0e-7, 0.00001, 123456789.125, -0.0]", b'{"a":[1e+21,1e-7,0.00001,123456789.125,-0]}'),
        (b'{"a": 1.0}', b'{"a":1.0}'),
        (b"- true\n- null\n- x: y", b'[true,null,{"x":"y"}]'),
    ],
)
def test_yaml_is_hashed_as_the_json_that_it_stands_for(content: bytes, expected: bytes) -> None:
    """Numbers as Go writes them; YAML that is JSON is JSON."""
    assert canonical("data.yaml", content) == expected
    assert canonical("x/data.yml", content) == expected


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"a": 1, "a": 2}',
        b"NaN",
        b'"\xff"',
        b'"\\ud800"',
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b"{} {}",
        b"a: 1",
    ],
)
def test_what_readers_could_read_differently_is_refused(content: bytes) -> None:
    """A key that stands twice, half a character, a number that is none."""
    with pytest.raises(PolicyUnusable, match="cannot be read as JSON"):
        canonical("data.json", content)


@pytest.mark.parametrize("content", [b"a: &x 1\nb: *x", b"a: yes", b"a: 1\n---\nb: 2", b"\x00"])
def test_yaml_that_readers_could_read_differently_is_refused(content: bytes) -> None:
    """Aliases, words that are sometimes booleans, several documents."""
    with pytest.raises(PolicyUnusable):
        canonical("data.yaml", content)


@pytest.mark.parametrize("algorithm", ["MD5", "SHA-1", "", "sha-256", "é"])
def test_weak_and_unknown_algorithms_are_refused(algorithm: str) -> None:
    """Whoever can find two files of one digest could exchange them."""
    with pytest.raises(PolicyUnusable, match="expected SHA-256, SHA-384, SHA-512"):
        file_digest("a.rego", b"", algorithm)
