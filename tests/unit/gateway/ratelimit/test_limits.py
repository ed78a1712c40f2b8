"""Which rates hold for a call."""

from typing import Any

import pytest
from fakes.limiter import FakeLimiter
from fakes.rows import agent, connection, tool

from adapters.base import Fault, SideEffect
from gateway.call import CallerKind, Decision, DecisionEffect, Obligation, Principal
from gateway.errors import Reason, Refusal
from gateway.ratelimit.limits import LIMIT_REASONS, Limits, checks_for
from gateway.rows import Rate
from gateway.settings.limits import LimitSettings, RateSettings

PRINCIPAL = Principal(
    tenant="acme",
    id="p1",
    kind=CallerKind.AGENT,
    agent="helper",
    scopes=frozenset(),
    roles=frozenset(),
    claims={},
    proof="socket",
    policy_json=b"{}",
)
ONE = Rate(per_minute=6, burst=1)
NARROW = RateSettings(per_minute=6, burst=1)


def decision(*obligations: Obligation) -> Decision:
    """An allow with some obligations."""
    return Decision(effect=DecisionEffect.ALLOW, reasons=(), obligations=obligations, revision="r")


async def take(limits: Limits, *obligations: Obligation, **rows: Any) -> None:
    """One call's take."""
    usual = {"agent": agent(), "tool": tool(), "connection": connection()} | rows
    await limits.take(PRINCIPAL, usual["agent"], usual["tool"], usual["connection"], decision(*obligations))


@pytest.mark.parametrize(
    ("settings", "rows", "reason"),
    [
        (LimitSettings(tenant=NARROW), {}, Reason.TENANT_RATE),
        (LimitSettings(agent=NARROW), {}, Reason.AGENT_RATE),
        (LimitSettings(), {"agent": agent(rate=ONE)}, Reason.AGENT_RATE),
        (LimitSettings(), {"tool": tool(rate=ONE)}, Reason.TOOL_RATE),
        (LimitSettings(), {"connection": connection(rate=ONE)}, Reason.CONNECTION_RATE),
    ],
)
async def test_each_rate_has_its_reason(settings: LimitSettings, rows: dict[str, Any], reason: Reason) -> None:
    """The second call is refused, with the time after which it would pass."""
    limits = Limits(FakeLimiter(), settings)
    await take(limits, **rows)
    with pytest.raises(Refusal) as caught:
        await take(limits, **rows)
    assert (caught.value.reason, caught.value.retry_after_ms) == (reason, 10_000)


async def test_policy_can_add_a_rate() -> None:
    """An obligation holds beside the others, and a second one beside the first."""
    wide = Obligation(type="rate", value={"per_minute": 6, "burst": 5})
    narrow = Obligation(type="rate", value={"per_minute": 6.0, "burst": 1.0})
    limits = Limits(FakeLimiter(), LimitSettings())
    await take(limits, wide, narrow)
    await take(limits, wide)
    with pytest.raises(Refusal) as caught:
        await take(limits, wide, narrow)
    assert caught.value.reason is Reason.TOOL_RATE


def test_keys_name_what_they_count() -> None:
    """Widest first, and each key starts with a word that has a reason."""
    limits = LimitSettings(tenant=NARROW, agent=NARROW)
    checks = checks_for(PRINCIPAL, agent(rate=ONE), tool(rate=ONE), connection(rate=ONE), limits)
    assert [key for key, _ in checks] == [
        ("tenant", "acme"),
        ("every_agent", "acme", "helper"),
        ("agent", "acme", "helper"),
        ("tool", "acme", "helper", "echo"),
        ("connection", "acme", "fake"),
    ]
    assert all(key[0] in LIMIT_REASONS for key, _ in checks)


async def test_no_rate_asks_nobody() -> None:
    """A call without limits does not depend on the limiter."""
    limiter = FakeLimiter()
    limiter.is_down = True
    await take(Limits(limiter, LimitSettings()))
    assert limiter.asked == []


async def test_a_new_row_counts_from_the_next_call() -> None:
    """The plan of an agent and tool is made again when the registry is loaded again."""
    limiter = FakeLimiter()
    limits = Limits(limiter, LimitSettings())
    rows = {"agent": agent(), "connection": connection()}
    await take(limits, tool=tool(rate=Rate(per_minute=6, burst=5)), **rows)
    await take(limits, tool=tool(rate=Rate(per_minute=6, burst=9)), **rows)
    assert [checks[0][1].burst for checks in limiter.asked] == [5, 9]


@pytest.mark.parametrize("side_effect", SideEffect)
async def test_a_limiter_that_is_down_refuses(side_effect: SideEffect) -> None:
    """Reads too, unless the settings say otherwise."""
    limiter = FakeLimiter()
    limiter.is_down = True
    with pytest.raises(Refusal) as caught:
        await take(Limits(limiter, LimitSettings()), tool=tool(rate=ONE, side_effect=side_effect))
    assert (caught.value.reason, caught.value.fault) == (Reason.LIMITER_UNAVAILABLE, Fault.REFUSED)


async def test_reads_may_pass_without_a_limiter_and_are_counted() -> None:
    """Writes and sends never do."""
    limiter = FakeLimiter()
    limiter.is_down = True
    limits = Limits(limiter, LimitSettings(reads_pass_without_limiter=True))
    await take(limits, tool=tool(rate=ONE))
    assert limits.passed_unlimited == 1
    for side_effect in (SideEffect.WRITE, SideEffect.SEND):
        with pytest.raises(Refusal):
            await take(limits, tool=tool(rate=ONE, side_effect=side_effect))
    assert limits.passed_unlimited == 1


async def test_a_limiter_that_breaks_its_contract_refuses() -> None:
    """Whatever it raises is `limiter_unavailable`."""

    class Broken:
        """Raises what no limiter should."""

        async def take(self, checks: object) -> tuple[int, float]:
            """Fail."""
            raise TimeoutError

    with pytest.raises(Refusal) as caught:
        await take(Limits(Broken(), LimitSettings()), tool=tool(rate=ONE))
    assert (caught.value.reason, caught.value.fault) == (Reason.LIMITER_UNAVAILABLE, Fault.TIMEOUT)
