"""The two halves of a plain mail address."""

import pytest

from adapters.addresses import is_full_domain, is_local_part


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("ann", True),
        ("ann.lee+x=1", True),
        ("x" * 64, True),
        ("x" * 65, False),
        ("", False),
        (".ann", False),
        ("ann..lee", False),
        ("ann lee", False),
        ('"ann"', False),
        ("ann\n", False),
        ("ann%corp", False),
        ("corp!ann", False),
        ("änn", False),
        ("a@b", False),
    ],
)
def test_a_local_part_is_plain(text: str, is_one: bool) -> None:
    """No quotes, no routes, nothing beyond ASCII."""
    assert is_local_part(text) is is_one


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("corp.example", True),
        ("xn--bcher-kva.example", True),
        ("a.b.c.d.example", True),
        ("corp.example\n", False),
        ("corp", False),
        ("Corp.example", False),
        ("corp.example.", False),
        ("-corp.example", False),
        ("corp-.example", False),
        ("[127.0.0.1]", False),
        ("127.0.0.1", False),
        ("corp.\u0661", False),
        (".".join(["a" * 63] * 5), False),
        ("", False),
    ],
)
def test_a_domain_is_full(text: str, is_one: bool) -> None:
    """No single label that a server would complete, and no address of a machine."""
    assert is_full_domain(text) is is_one
