"""What a call claims, and whether it has to wait first."""

from dataclasses import replace

import pytest
from fakes.parking import ONE_BOSS, boss
from fakes.principals import principal
from fakes.rows import agent, connection, tool
from fakes.spending import charge

from adapters.base import Finding, Invocation, Operation, Output, SideEffect
from gateway.approvals.base import Approved
from gateway.arguments.schema import compile_schema
from gateway.audit.base import LineKind
from gateway.call import ApprovalUse, Arguments, Decision, DecisionEffect, Obligation, Request
from gateway.claims import Passage, claim_of, must_wait
from gateway.registry.catalogue import Entry

ARGUMENTS = Arguments(value={"a": "private"}, canonical=b'{"a":"private"}', digest="sha256:d")
REQUEST = Request(tool="note", arguments_json=b"{}")
APPROVED = Approved(
    call_id="c1",
    effect_id="c1",
    key="k",
    principal=principal(),
    request=REQUEST,
    approval_id="apr_1",
    arguments_digest="sha256:of then",
    tool_version="of then",
    connection="of then",
    terms=ONE_BOSS,
    otherwise=ONE_BOSS,
    revision="r",
    decisions=(boss(),),
    expires_at=9e9,
    age_seconds=60.0,
)


async def _invoke(_: Invocation) -> Output:
    return Output()


async def _reconcile(_: Invocation) -> Finding:
    return Finding.STILL_UNKNOWN


def entry(*, side_effect: SideEffect = SideEffect.SEND, can_ask: bool = True) -> Entry:
    """A tool, whose vendor can be asked later what became of a call, or not."""
    operation = Operation(
        name="echo",
        arguments=dict,
        side_effect=side_effect,
        prepare=dict,
        invoke=_invoke,
        reconcile=_reconcile if can_ask else None,
    )
    row = tool(side_effect=side_effect, version="7")
    return Entry(agent(), row, connection(), operation, compile_schema({"type": "object"}), None)


def trail(kind: LineKind = LineKind.CALL) -> Passage:
    """A call at its claim."""
    one = Passage(kind=kind, call_id="c1", principal=principal(), request=REQUEST, now=0.0)
    one.key, one.effect_id = "k", "e1"
    return one


def decision(effect: DecisionEffect, count: int = 1) -> Decision:
    """What policy says."""
    terms = {"roles": ["boss"], "count": count, "expires_in_seconds": 3600}
    asks = effect is DecisionEffect.REQUIRE_APPROVAL
    obligations = (Obligation(type="approval", value=terms),) if asks else ()
    return Decision(effect=effect, reasons=(), obligations=obligations, revision="r")


ALLOW, ASK = DecisionEffect.ALLOW, DecisionEffect.REQUIRE_APPROVAL


@pytest.mark.parametrize(
    ("asks", "count", "approved", "waits"),
    [
        (ALLOW, 1, None, False),
        (ASK, 1, None, True),
        (ALLOW, 1, APPROVED, False),
        (ASK, 1, APPROVED, False),
        (ASK, 2, APPROVED, True),
        (ASK, 1, replace(APPROVED, decisions=(replace(boss(), approves=False),)), True),
        (ASK, 1, replace(APPROVED, age_seconds=3600.0), True),
        (ALLOW, 1, replace(APPROVED, edited=True), True),
        (ASK, 1, replace(APPROVED, edited=True), True),
    ],
)
def test_a_call_waits_for_people_until_todays_terms_are_met(
    asks: DecisionEffect, count: int, approved: Approved | None, waits: bool
) -> None:
    """A new one whenever policy asks; an approved one when that is not enough any more; an edited one always."""
    assert must_wait(decision(asks, count), approved) is waits


def test_a_claim_is_the_key_of_one_effect_and_what_it_costs() -> None:
    """By the names that the trail has by then."""
    claim = claim_of(trail(), entry(), ARGUMENTS, (charge(),))
    assert (claim.key, claim.call_id, claim.effect_id, claim.arguments_digest) == ("k", "c1", "e1", "sha256:d")
    assert (claim.charges, claim.approval, claim.kind) == ((charge(),), None, "call")


@pytest.mark.parametrize(
    ("side_effect", "can_ask", "kept"),
    [
        (SideEffect.SEND, True, b'{"a":"private"}'),
        (SideEffect.WRITE, True, b'{"a":"private"}'),
        (SideEffect.SEND, False, b""),
        (SideEffect.READ, True, b""),
    ],
)
def test_arguments_are_kept_where_the_vendor_can_be_asked_later(
    side_effect: SideEffect, can_ask: bool, kept: bytes
) -> None:
    """And nowhere else: what nobody needs is not stored."""
    claim = claim_of(trail(), entry(side_effect=side_effect, can_ask=can_ask), ARGUMENTS, ())
    assert claim.arguments == kept
    assert "private" not in repr(claim)


def test_an_execution_uses_its_approval_for_what_is_about_to_run() -> None:
    """The binding is made of today's arguments, version and connection, not of those that were approved."""
    one = trail(LineKind.EXECUTION)
    one.approved = APPROVED
    claim = claim_of(one, entry(), ARGUMENTS, ())
    assert claim.kind == "execution"
    assert claim.approval == ApprovalUse(
        approval_id="apr_1", arguments_digest="sha256:d", tool_version="7", connection="fake"
    )
