"""What works over the state: its chores, and approved calls that have their place in the gateway."""

from pathlib import Path

import pytest
from fakes.principals import principal
from fakes.served import served

from gateway.approvals.base import Approved, Terms
from gateway.call import Request
from gateway.errors import Reason, Refusal
from gateway.services import Nobody
from gateway.settings.limits import LimitSettings

TERMS = Terms(roles=("approver",), count=1, expires_in_seconds=60)


def _approved() -> Approved:
    return Approved(
        call_id="c1",
        effect_id="c1",
        key="",
        principal=principal(),
        request=Request(tool="echo", arguments_json=b'{"text":"hi"}'),
        approval_id="a1",
        arguments_digest="sha256:aa",
        tool_version="1",
        connection="plain",
        terms=TERMS,
        otherwise=TERMS,
        revision="r1",
        decisions=(),
        expires_at=0.0,
        age_seconds=0.0,
    )


async def test_every_part_that_owes_the_store_has_its_chore(tmp_path: Path) -> None:
    """Each is named once."""
    async with served(tmp_path) as one:
        assert one.gateway._services is not None
        names = [chore.name for chore in one.gateway._services.chores()]
    assert len(set(names)) == len(names)
    assert {"keys", "late_lines", "others", "budgets", "approvals", "handles", "outcomes"} <= set(names)


async def test_an_approved_call_waits_for_a_place_like_any_other(tmp_path: Path) -> None:
    """When the gateway is full it is tried again later, and nothing was begun."""
    async with served(tmp_path, limits=LimitSettings(max_in_flight=1)) as one:
        services = one.gateway._services
        assert services is not None
        with one.gateway._admission.room, pytest.raises(Refusal) as caught:
            await services._execute(_approved())
        assert caught.value.reason is Reason.CALLER_RATE
        assert one.lines == []


def test_nobody_is_told_nothing() -> None:
    """Whoever asked for an approved call is not there any more."""
    nobody = Nobody()
    nobody.begin("c1")
    nobody.end()
