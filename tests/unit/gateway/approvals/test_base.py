"""Terms, and what an approved call shows policy."""

import json
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from fakes.approvals import ALLOW, SEND, arguments, asking, decided
from fakes.clock import START
from fakes.executions import TERMS, approved
from fakes.rows import connection

from gateway.approvals.base import Terms
from gateway.arguments.schema import compile_schema
from gateway.call import ApprovalUse, Decision, DecisionEffect, Obligation

SCHEMA = orjson.loads((Path(__file__).parents[4] / "policies" / "input.schema.json").read_bytes())
APPROVAL = compile_schema(SCHEMA["properties"]["approval"])


def _demanding(*values: dict[str, object]) -> Decision:
    obligations = tuple(Obligation(type="approval", value=value) for value in values)
    return Decision(effect=DecisionEffect.REQUIRE_APPROVAL, reasons=(), obligations=obligations, revision="r")


def test_a_decision_that_names_no_terms_gets_the_others() -> None:
    """Those of the settings."""
    assert Terms.of(ALLOW, TERMS) is TERMS


def test_of_several_demands_all_hold() -> None:
    """Roles that are in all of them, the highest number, the shortest time."""
    found = Terms.of(
        _demanding(
            {"roles": ["b", "a", "c"], "count": 1, "expires_in_seconds": 60},
            {"roles": ["c", "b"], "count": 2.0, "expires_in_seconds": 90},
        ),
        TERMS,
    )
    assert found == Terms(roles=("b", "c"), count=2, expires_in_seconds=60)


def test_demands_that_no_role_meets_are_met_by_nobody() -> None:
    """The call waits until it is over."""
    one, other = ({"roles": [role], "count": 1, "expires_in_seconds": 60} for role in "ab")
    assert Terms.of(_demanding(one, other), TERMS).role_of(["a", "b"]) == ""


@pytest.mark.parametrize(("roles", "role"), [((), ""), (("clerk",), ""), (("clerk", "approver"), "approver")])
def test_a_role_counts_when_it_is_asked_for(roles: tuple[str, ...], role: str) -> None:
    """The first one that does."""
    assert TERMS.role_of(roles) == role


def test_policy_sees_who_agreed_and_under_which_policy() -> None:
    """As the input's schema says."""
    given = replace(approved(), decisions=(decided("ann", at=START), decided("bob", at=START + 1)), expires_at=START)
    for revision in ("r1", "r2"):
        seen = json.loads(given.approval_json(revision))
        assert APPROVAL.is_valid(seen)
        assert seen["same_revision"] is (revision == "r1")
    assert [one["id"] for one in seen["approvers"]] == ["ann", "bob"]
    assert seen["approvers"][0]["time"] == seen["expires"] == "2026-01-01T00:00:00.000000Z"


def test_of_an_edited_call_nothing_is_approved_yet() -> None:
    """Policy sees no approval, and whatever it says the call is parked anew."""
    edited = replace(approved(edited=True), decisions=(decided(at=START),))
    assert edited.approval_json("r1") == b"null"
    assert not edited.meets(ALLOW)
    assert not edited.meets(asking())


def test_one_person_counts_once() -> None:
    """In whatever number they are listed, and not when they denied."""
    twice = replace(approved(), decisions=(decided("ann", at=START), decided("ann", at=START)))
    assert twice.meets(asking(count=1))
    assert not twice.meets(asking(count=2))
    denied = replace(approved(), decisions=(replace(decided(at=START), approves=False),))
    assert not denied.meets(asking())


def test_what_is_about_to_run_is_named_by_what_it_is() -> None:
    """Not by what was approved: the two are compared where the approval is used."""
    use = approved().binding(arguments("x"), SEND, connection(name="other"))
    assert use == ApprovalUse(
        approval_id="a1", arguments_digest=arguments("x").digest, tool_version="1", connection="other"
    )


def test_nothing_private_is_shown_by_accident() -> None:
    """Arguments, keys and what people said are in no repr."""
    shown = repr(replace(approved(), key="private-key", decisions=(replace(decided(at=START), reason="private-word"),)))
    assert "private" not in shown
