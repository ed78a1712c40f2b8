"""Built-ins that the embedded engine lacks, against the results that OPA documents."""

import json

import pytest
from fakes.packs import pack

from gateway.errors import Refusal
from gateway.policy.builtins import EXTENSIONS, cidr_contains_matches, cidr_intersects, hmac_equal, hmac_sha256, sha256
from gateway.policy.embedded import EmbeddedEngine, builtin_functions


def _is_true(expression: str) -> bool:
    """Whether a policy finds the expression true."""
    rule = f'decision := {{"effect": "allow", "reasons": [], "obligations": []}} if {{ {expression} }}'
    try:
        EmbeddedEngine(pack(rule)).decide_now(b"{}")
    except Refusal:
        return False
    return True


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("192.168.0.0/16", "192.168.1.0/24", True),
        ("192.168.1.0/24", "192.168.0.0/16", True),
        ("10.0.0.0/8", "192.168.1.0/24", False),
        ("10.0.0.0/8", "::/0", False),
        ("2001:db8::/32", "2001:db8:1::/48", True),
    ],
)
def test_cidr_intersects(first: str, second: str, expected: bool) -> None:
    """True for networks with a common address."""
    assert cidr_intersects(first, second) is expected


@pytest.mark.parametrize(
    ("cidrs", "addresses", "expected"),
    [
        ("1.1.1.0/24", "1.1.1.128", [["1.1.1.0/24", "1.1.1.128"]]),
        (["1.1.1.0/24", "1.1.2.0/24"], "1.1.1.128", [[0, "1.1.1.128"]]),
        (
            [["1.1.0.0/16", "foo"], "1.1.2.0/24"],
            ["1.1.1.128", ["1.1.254.254", "bar"]],
            [[0, 0], [0, 1]],
        ),
        ({"a": "1.1.0.0/16"}, {"x": "1.1.1.128", "y": ["9.1.254.254", "bar"]}, [["a", "x"]]),
        ({"1.1.0.0/16"}, "2001:db8::1", []),
    ],
)
def test_cidr_contains_matches(cidrs: object, addresses: object, expected: list[object]) -> None:
    """Pairs of keys, as in OPA's documentation."""
    assert cidr_contains_matches(cidrs, addresses) == expected


def test_digests() -> None:
    """Lower-case hex, equal to published test vectors."""
    assert sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    digest = "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"
    assert hmac_sha256("The quick brown fox jumps over the lazy dog", "key") == digest
    assert hmac_equal(digest, digest)
    assert not hmac_equal(digest, "")


def test_a_policy_can_call_them() -> None:
    """Through the engine: arguments and results survive the way there and back."""
    assert _is_true('net.cidr_intersects("10.0.0.0/8", "10.1.0.0/16")')
    assert not _is_true('net.cidr_intersects("10.0.0.0/8", "11.1.0.0/16")')
    assert _is_true('net.cidr_contains_matches(["1.1.1.0/24"], "1.1.1.128") == {[0, "1.1.1.128"]}')
    assert _is_true('crypto.hmac.equal(crypto.hmac.sha256("a", "k"), crypto.hmac.sha256("a", "k"))')
    assert _is_true(f'crypto.sha256("abc") == {json.dumps(sha256("abc"))}')


def test_a_failing_one_refuses() -> None:
    """What is no network is an error, and an error never allows."""
    assert not _is_true('net.cidr_intersects("10.0.0.0/8", input.nothing)')
    rule = (
        'decision := {"effect": "allow", "reasons": [], "obligations": []} if not net.cidr_intersects(input.x, "::/0")'
    )
    with pytest.raises(Refusal, match="policy_unavailable"):
        EmbeddedEngine(pack(rule)).decide_now(b'{"x": "no network"}')


def test_all_are_offered() -> None:
    """The list of functions that a policy may call holds ours and the engine's."""
    assert EXTENSIONS.keys() <= builtin_functions()
    assert {"sprintf", "net.cidr_contains", "glob.match"} <= builtin_functions()
