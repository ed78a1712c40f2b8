"""Bytes become one JSON object, or a refusal that names the field."""

import contextlib
import json
import math
import string
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.arguments.strict_json import MAX_ISSUES, MAX_SAFE_INTEGER, read_object
from gateway.errors import Reason, Refusal

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is not a failure."""

MAX_BYTES = 64 * 1024


def read(raw: bytes, max_leaves: int = 1000) -> dict[str, Any]:
    """The object in `raw`, within usual limits."""
    return read_object(raw, max_bytes=MAX_BYTES, max_leaves=max_leaves)


def refused(raw: bytes, max_leaves: int = 1000) -> Refusal:
    """How `raw` is refused."""
    with pytest.raises(Refusal) as caught:
        read(raw, max_leaves)
    return caught.value


def found(raw: bytes) -> list[tuple[str, str]]:
    """The path and the rule of every issue."""
    return [(issue.path, issue.rule) for issue in refused(raw).issues]


def test_reads_an_ordinary_object() -> None:
    """Every JSON type comes back as itself."""
    raw = b' {"a": "x", "b": [1, -2, 0.5, true, null], "c": {"d": {}}, "e": "\\u00e9\\n\\"q\\""} '
    assert read(raw) == {"a": "x", "b": [1, -2, 0.5, True, None], "c": {"d": {}}, "e": 'é\n"q"'}


def test_g05_an_integer_that_would_lose_digits_is_refused_by_name() -> None:
    """The issue names the field and says to send a string; as a string it passes, and 5 stays 5."""
    refusal = refused(b'{"issue_id": 9007199254740993, "n": 5}')
    assert refusal.reason is Reason.ARGUMENTS_MALFORMED
    assert [(issue.path, issue.rule) for issue in refusal.issues] == [("/issue_id", "integer_range")]
    assert "`issue_id`" in refusal.issues[0].message
    assert "string" in refusal.issues[0].message
    value = read(b'{"issue_id": "9007199254740993", "n": 5.0}')
    assert value == {"issue_id": "9007199254740993", "n": 5}
    assert type(value["n"]) is int


@pytest.mark.parametrize("text", ["5.0", "5e0", "0.5e1", "50e-1", "5.000"])
def test_g05_a_whole_float_becomes_an_integer(text: str) -> None:
    """However it is spelt, at any depth."""
    value = read(f'{{"n": {text}, "m": [{{"k": {text}}}]}}'.encode())
    assert value == {"n": 5, "m": [{"k": 5}]}
    assert type(value["n"]) is int
    assert type(value["m"][0]["k"]) is int


@pytest.mark.parametrize("text", ["-0", "-0.0", "0e5", "1e-400", "-1e-400"])
def test_every_zero_is_the_same_zero(text: str) -> None:
    """Negative zero and what is too small for a double are the integer 0."""
    value = read(f'{{"n": {text}}}'.encode())["n"]
    assert (type(value), value, math.copysign(1, value)) == (int, 0, 1.0)


@pytest.mark.parametrize("number", [MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER])
def test_the_largest_safe_integer_passes(number: int) -> None:
    """2^53-1 and its negative, as an integer and as a float."""
    assert read(f'{{"n": {number}, "m": {number}.0}}'.encode()) == {"n": number, "m": number}


@pytest.mark.parametrize(
    "text",
    [
        "9007199254740992",
        "-9007199254740992",
        "9007199254740992.0",
        "18446744073709551616",
        "123456789012345678901234567890",
        "1e16",
        "1e400",
        "-1e999999999",
        "9" * 5000,
    ],
)
def test_g05_a_number_beyond_the_safe_range_is_refused(text: str) -> None:
    """However it is spelt, and without turning thousands of digits into a number."""
    assert found(f'{{"a": [0, {text}]}}'.encode()) == [("/a/1", "integer_range")]


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_is_refused(text: str) -> None:
    """NaN and Infinity are not JSON, and the issue names the field."""
    assert found(f'{{"a": {{"b": {text}}}}}'.encode()) == [("/a/b", "finite")]


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b'{"to": "team@corp.example", "to": "x@evil.test"}', "/to"),
        (b'{"to": 1, "to": 1}', "/to"),
        (b'{"a": [{"b": 1}, {"b": 1, "b": 2}]}', "/a/1/b"),
        (b'{"to": 1, "t\\u006f": 2}', "/to"),
        (b'{"a": {}, "a": {}}', "/a"),
        (b'{"": 1, "": 2}', "/"),
        (b'{"a/b~c": 1, "a/b~c": 2}', "/a~1b~0c"),
        # Quotes won back by an escape must not hide the loss of a member.
        (b'{"a": 1, "a": 1, "b": "\\u0022\\u0022"}', "/a"),
        (b'{"a": "x", "a": "\\u0022\\u0022\\u0022\\u0022"}', "/a"),
    ],
)
def test_g06_a_duplicate_key_is_refused_by_name(raw: bytes, path: str) -> None:
    """At any depth, in any spelling, with equal values too."""
    assert found(raw) == [(path, "duplicate_key")]


def test_every_issue_is_reported_up_to_a_limit() -> None:
    """Two flaws give two issues; a thousand do not give a thousand."""
    assert found(b'{"a": 1, "a": 2, "b": 1e20}') == [("/a", "duplicate_key"), ("/b", "integer_range")]
    many = ",".join(f'"k{index}": 1e20' for index in range(100))
    assert len(refused(f"{{{many}}}".encode()).issues) == MAX_ISSUES


@pytest.mark.parametrize(
    ("raw", "path"),
    [(b'{"a": "\\ud800"}', "/a"), (b'{"a": ["\\udc00x"]}', "/a/0"), (b'{"a": "\\ud83d\\u0041"}', "/a")],
)
def test_half_of_a_surrogate_pair_is_refused(raw: bytes, path: str) -> None:
    """It is not text, and would fail at the first place that encodes it."""
    assert found(raw) == [(path, "unicode")]


def test_half_of_a_surrogate_pair_in_a_key_is_refused_in_text_that_can_be_sent() -> None:
    """The issue's own path and message can be encoded."""
    issue = refused(b'{"\\ud800": 1}').issues[0]
    assert issue.rule == "unicode"
    assert (issue.path + issue.message).encode()


def test_a_surrogate_pair_is_a_character() -> None:
    """Escaped in two halves, as JSON does."""
    assert read(b'{"a": "\\ud83d\\ude00"}') == {"a": "😀"}


@pytest.mark.parametrize("raw", [b"[]", b"1", b'"x"', b"null", b"true", b"[{}]"])
def test_anything_but_an_object_is_refused(raw: bytes) -> None:
    """Arguments are one object."""
    assert found(raw) == [("", "object")]


@pytest.mark.parametrize(
    "raw",
    [
        b"", b" ", b"{", b"}", b"{}{}", b"{} x", b'{"a":}', b'{"a" 1}', b"{'a': 1}", b'{"a": 1,}', b'{"a": 01}',
        b'{"a": .5}', b'{"a": 1.}', b'{"a": +1}', b'{"a": 0x1}', b'{"a": "\n"}', b'{"a": "\\x"}', b"{a: 1}",
        b'{"a": 1 /* c */}', b'\xef\xbb\xbf{"a": 1}', b"[][][]", b"]" * 50, b'{"a": tru}', b'{"a": "x',
    ],
)  # fmt: skip
def test_what_is_not_json_is_refused(raw: bytes) -> None:
    """One issue, of the rule `json`, that says nothing of what was sent."""
    refusal = refused(raw)
    assert [(issue.path, issue.rule) for issue in refusal.issues] == [("", "json")]
    assert refusal.reason is Reason.ARGUMENTS_MALFORMED


@pytest.mark.parametrize("raw", [b'{"a": "\xff"}', b'{"a": "\xed\xa0\x80"}', '{"a": 1}'.encode("utf-16")])
def test_what_is_not_utf8_is_refused(raw: bytes) -> None:
    """Encoded surrogates and other encodings too."""
    assert found(raw) == [("", "utf8")]


def nested(levels: int) -> bytes:
    """An object with so many levels, itself counted."""
    return b'{"a":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


def test_depth_is_limited() -> None:
    """64 levels pass; 65 and 100,000 do not."""
    assert read(nested(64))
    for levels in (65, 2000, 30_000):
        refusal = refused(nested(levels))
        assert (refusal.reason, refusal.issues[0].rule) == (Reason.ARGUMENTS_TOO_LARGE, "maxDepth")
    assert refused(b'{"a":' * 5000).issues[0].rule == "maxDepth"


@pytest.mark.parametrize(
    ("raw", "leaves"),
    [
        (b'{"a": [1, 2, 3]}', 3),
        (b'{"a": [[], {}, ""]}', 3),
        (b'{"a": {"b": {"c": null}}}', 1),
        (b'{"a": 5.0, "b": "x,y,z"}', 2),
    ],
)
def test_leaves_are_limited(raw: bytes, leaves: int) -> None:
    """Scalars and empty containers count; commas in text do not."""
    assert read(raw, leaves)
    refusal = refused(raw, leaves - 1)
    assert (refusal.reason, refusal.issues[0].rule) == (Reason.ARGUMENTS_TOO_LARGE, "maxLeaves")


def test_duplicate_members_count_as_leaves() -> None:
    """A parser that keeps the last of them does not hide how many were sent."""
    raw = b"{" + b",".join([b'"a":1'] * 50) + b"}"
    assert refused(raw, 49).issues[0].rule == "maxLeaves"


def test_size_is_limited_before_anything_is_parsed() -> None:
    """One byte too many is refused, though it is no JSON at all."""
    refusal = refused(b"x" * (MAX_BYTES + 1))
    assert (refusal.reason, refusal.issues[0].rule) == (Reason.ARGUMENTS_TOO_LARGE, "maxBytes")


def test_an_issue_repeats_no_value_and_cuts_long_keys() -> None:
    """What the agent sent does not come back, and a key of any length gives a short path."""
    key = "k" * 5000
    issue = refused(f'{{"{key}": [90071992547409931234]}}'.encode()).issues[0]
    assert len(issue.path) < 300
    assert len(issue.message) < 500
    assert "1234" not in issue.message


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.dictionaries(st.text(max_size=4), JSON_VALUES, max_size=5)


def normal(value: Any) -> Any:
    """The slow reference: whole floats are integers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: normal(item) for key, item in value.items()}
    return [normal(item) for item in value] if isinstance(value, list) else value


def types_of(value: Any) -> Any:
    """The value's types, so that 5 and 5.0 are told apart."""
    if isinstance(value, dict):
        return {key: types_of(item) for key, item in value.items()}
    return [types_of(item) for item in value] if isinstance(value, list) else type(value)


@relaxed
@given(OBJECTS, st.booleans())
def test_equals_the_slow_reference_on_every_object(value: dict[str, Any], is_ascii: bool) -> None:
    """Whatever a correct writer sends comes back equal, with whole floats made integers."""
    raw = json.dumps(value, ensure_ascii=is_ascii).encode()
    result = read(raw)
    assert normal(value) == result
    assert types_of(normal(value)) == types_of(result)


KEYS = st.sampled_from(["a", "b", '"', "\\", "\\u0022", "é", "a,b"])
SCALARS = st.sampled_from(["1", "2.0", "1e2", '"x"', '"\\u0022"', '"\\"\\\\"', '"a,b"', "null", "[]", "{}", '["a"]'])


@relaxed
@given(st.lists(st.tuples(KEYS, SCALARS, st.booleans()), max_size=6))
def test_g06_no_spelling_hides_a_duplicate(members: list[tuple[str, str, bool]]) -> None:
    """Refused exactly when two keys are equal once their escapes are read."""
    written = [
        ("".join(f"\\u{ord(c):04x}" for c in key) if is_escaped else json.dumps(key)[1:-1], value)
        for key, value, is_escaped in members
    ]
    raw = ("{" + ",".join(f'"{key}":{value}' for key, value in written) + "}").encode()
    keys = [key for key, _, _ in members]
    if len(set(keys)) == len(keys):
        assert read(raw) == normal(json.loads(raw))
    else:
        assert {issue.rule for issue in refused(raw).issues} == {"duplicate_key"}


@relaxed
@given(st.binary(max_size=60) | st.text(alphabet=string.printable + "\ud83dé", max_size=40).map(
    lambda text: text.encode("utf-8", "surrogatepass")
) | st.text(alphabet='{}[]",:\\u0129eE.-+ntf', max_size=60).map(lambda text: ('{"a":' + text).encode()))  # fmt: skip
def test_nothing_but_a_refusal_comes_out_of_hostile_bytes(raw: bytes) -> None:
    """Any bytes give an object that a strict reader agrees with, or a `Refusal`."""
    with contextlib.suppress(Refusal):
        assert read(raw) == normal(json.loads(raw.decode()))
