"""Step 4: what is missing is refused by name, and nothing is held by default."""

from collections.abc import Mapping
from typing import Any

import pytest
from fakes import rows

from gateway.call import CallerKind, Principal
from gateway.errors import Reason, Refusal
from gateway.scopes import check_scopes, is_same_json


def principal(scopes: str = "", roles: str = "", claims: Mapping[str, Any] | None = None) -> Principal:
    """A caller whose proof says so much."""
    return Principal(
        tenant="acme",
        id="p",
        kind=CallerKind.AGENT,
        agent="helper",
        scopes=frozenset(scopes.split()),
        roles=frozenset(roles.split()),
        claims=claims or {},
        proof="jwt",
        policy_json=b"{}",
    )


def check(who: Principal, *, scopes: str = "", roles: str = "", mode: str = "", **tool: Any) -> None:
    """Step 4 for an agent's row with these scopes and roles."""
    fields = {"requires": frozenset(), **tool}
    agent = rows.agent(scopes=frozenset(scopes.split()), roles=frozenset(roles.split()))
    check_scopes(who, agent, rows.tool(**fields), mode)


def refusal(*args: Any, **kwargs: Any) -> Refusal:
    """How step 4 stops such a call."""
    with pytest.raises(Refusal) as caught:
        check(*args, **kwargs)
    return caught.value


def test_a_caller_with_every_scope_goes_on() -> None:
    """Held by the proof and by the row."""
    check(principal("a b c"), scopes="a b d", requires=frozenset({"a", "b"}))


@pytest.mark.parametrize(("proof", "row"), [("a", "a b"), ("a b", "a"), ("a", "a"), ("a b", "")])
def test_a_scope_must_be_held_by_the_proof_and_by_the_row(proof: str, row: str) -> None:
    """Neither widens the other, and the refusal names what is missing."""
    stopped = refusal(principal(proof), scopes=row, requires=frozenset({"b"}))
    assert stopped.reason is Reason.SCOPE_MISSING
    assert "`b`" in stopped.message


def test_only_what_is_missing_is_named() -> None:
    """In order, so that the message is the same each time."""
    stopped = refusal(principal("a"), scopes="a b c", requires=frozenset({"c", "a", "b"}))
    assert "the scopes `b`, `c`" in stopped.message


def test_a_tool_that_requires_nothing_lets_everybody_on() -> None:
    """Said in so many words by an empty list in its row."""
    check(principal())


@pytest.mark.parametrize("claims", [{}, {"plan": "free"}, {"plan": ["pro"]}, {"plan": None}])
def test_a_claim_must_have_the_required_value(claims: dict[str, Any]) -> None:
    """The refusal names the claim and not its value."""
    check(principal(claims={"plan": "pro"}), required_claims={"plan": "pro"})
    stopped = refusal(principal(claims=claims), required_claims={"plan": "pro"})
    assert stopped.reason is Reason.CLAIM_MISSING
    assert "`plan`" in stopped.message
    assert "pro" not in stopped.message


@pytest.mark.parametrize(
    ("one", "other", "want"),
    [
        (True, 1, False),
        (1, True, False),
        (0, False, False),
        (1, 1.0, True),
        ([1], (1,), True),
        ([True], [1], False),
        ({"a": [1]}, {"a": [1]}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1], [1, 2], False),
        ("1", 1, False),
        (None, False, False),
    ],
)
def test_json_equality(one: Any, other: Any, want: bool) -> None:
    """A boolean is no number, at any depth."""
    assert is_same_json(one, other) is want


@pytest.mark.parametrize(("proof", "row"), [("viewer", "admin"), ("admin", "viewer"), ("", "admin")])
def test_one_of_the_roles_must_be_held_by_proof_and_row(proof: str, row: str) -> None:
    """Any of those allowed will do."""
    allowed = frozenset({"admin", "owner"})
    check(principal(roles="admin"), roles="admin x", allowed_roles=allowed)
    stopped = refusal(principal(roles=proof), roles=row, allowed_roles=allowed)
    assert stopped.reason is Reason.ROLE_MISSING
    assert "`admin`, `owner`" in stopped.message


def test_a_mode_must_be_one_of_the_tools() -> None:
    """No mode at all is none of them; a tool without modes is for any."""
    check(principal(), mode="plan", modes=frozenset({"plan", "review"}))
    check(principal(), mode="anything")
    for mode in ("act", ""):
        stopped = refusal(principal(), mode=mode, modes=frozenset({"plan"}))
        assert stopped.reason is Reason.MODE_NOT_ALLOWED
        assert "`plan`" in stopped.message
