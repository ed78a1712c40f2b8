"""What travels along the path keeps what is private out of sight."""

import pytest
from fakes.clock import START
from fakes.principals import principal
from fakes.spending import charge

from adapters.base import ArgumentIssue, Fault
from gateway.call import Arguments, BudgetScope, Failure, Request, Result, Step, Surface
from gateway.errors import CODE_OF, PolicyReason, Reason, Refusal

PRIVATE = "private words"


@pytest.mark.parametrize(
    "carrier",
    [
        Request(tool="t", arguments_json=PRIVATE.encode(), idempotency_key=PRIVATE),
        Arguments(value={"a": PRIVATE}, canonical=PRIVATE.encode(), digest="sha256:d"),
        Result(content=(), structured_json=PRIVATE.encode(), receipt=PRIVATE),
        principal(claims={}),
    ],
    ids=lambda carrier: type(carrier).__name__,
)
def test_what_is_private_is_not_in_a_repr(carrier: object) -> None:
    """Arguments, keys and results cannot get into a log by being printed."""
    assert PRIVATE not in repr(carrier)
    assert "policy_json" not in repr(carrier)


def test_a_failure_is_its_refusal_as_data() -> None:
    """Nothing of it is lost, and its code is the table's."""
    refusal = Refusal(
        Reason.ARGUMENTS_INVALID,
        "m",
        issues=(ArgumentIssue(path="/a", rule="type", message="x"),),
        policy_reasons=(PolicyReason(code="c"),),
        retry_after_ms=7,
        fault=Fault.MALFORMED,
    )
    failure = Failure.of(refusal)
    for field in ("reason", "message", "issues", "policy_reasons", "retry_after_ms", "fault", "code"):
        assert getattr(failure, field) == getattr(refusal, field)


@pytest.mark.parametrize("reason", Reason)
def test_a_failures_code_is_the_one_of_its_reason(reason: Reason) -> None:
    """One table for all."""
    assert Failure(reason=reason, message="").code is CODE_OF[reason]


def test_the_steps_are_in_the_order_of_the_path() -> None:
    """As the line's timings show them."""
    first = "admission begin registry scopes arguments idempotency policy approvals limits claim"
    assert " ".join(Step) == f"{first} credentials adapter result audit"


def test_a_surface_is_found_by_its_name() -> None:
    """Its hash is its text's, so that a row's own words find it."""
    assert {"grpc": 1}[Surface.GRPC] == 1


@pytest.mark.parametrize(
    ("changes", "reason", "retry_after_ms"),
    [
        ({"expires_at": START + 90.0005}, Reason.BUDGET_SPENT, 90_001),
        ({"expires_at": START - 1}, Reason.BUDGET_SPENT, 0),
        ({"expires_at": None, "is_cap": True}, Reason.CAP_REACHED, 0),
        ({"expires_at": START + 90, "amount": 11}, Reason.BUDGET_SPENT, 0),
        ({"expires_at": START + 90, "scope": BudgetScope.RUN, "is_cap": True}, Reason.CAP_REACHED, 0),
    ],
)
def test_a_charge_that_is_too_much_is_told_with_when_to_come_back(
    changes: dict[str, object], reason: Reason, retry_after_ms: int
) -> None:
    """If ever: a run does not outlive its own counter, and what is beyond the limit by itself never fits."""
    refusal = charge(told="Too much.", **changes).refusal(START)
    assert (refusal.reason, refusal.message, refusal.retry_after_ms) == (reason, "Too much.", retry_after_ms)
