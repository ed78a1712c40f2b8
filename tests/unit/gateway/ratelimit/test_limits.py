"""Which rates hold for a call."""

from typing import Any

import pytest
from fakes.clock import FakeClock
from fakes.limiter import FakeLimiter
from fakes.rows import agent, connection, tool

from adapters.base import Fault, SideEffect
from gateway.call import CallerKind, Decision, DecisionEffect, Obligation, Principal
from gateway.errors import Reason, Refusal
from gateway.ratelimit.base import LimiterDown
from gateway.ratelimit.limits import LIMIT_REASONS, RULES, Limits, checks_for
from gateway.rows import Rate
from gateway.settings.limits import LimitSettings, RateSettings, WhenDownSettings

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


ALL_OPEN = WhenDownSettings(tenant="open", agent="open", tool="open", connection="open", policy="open")


def down(clock: FakeClock | None = None, **settings: Any) -> Limits:
    """Limits whose limiter is down."""
    limiter = FakeLimiter()
    limiter.is_down = True
    return Limits(limiter, LimitSettings(**settings), (clock or FakeClock()).monotonic)


def counted(limits: Limits) -> dict[tuple[str, str], int]:
    """What happened."""
    return {what: count for what, count in limits.counts.items() if count}


@pytest.mark.parametrize(
    ("rule", "settings", "rows", "obligations"),
    [
        ("tenant", {"tenant": NARROW}, {}, ()),
        ("agent", {"agent": NARROW}, {}, ()),
        ("agent", {}, {"agent": agent(rate=ONE)}, ()),
        ("agent", {"agent": NARROW}, {"agent": agent(rate=ONE)}, ()),
        ("tool", {}, {"tool": tool(rate=ONE)}, ()),
        ("connection", {}, {"connection": connection(rate=ONE)}, ()),
        ("policy", {}, {}, (Obligation(type="rate", value={"per_minute": 6, "burst": 1}),)),
    ],
)
async def test_each_rule_says_what_becomes_of_reads(
    rule: str, settings: dict[str, Any], rows: dict[str, Any], obligations: tuple[Obligation, ...]
) -> None:
    """Closed refuses, open passes, local counts here; each is counted once for a call and a rule."""
    limits = down(**settings)
    with pytest.raises(Refusal) as caught:
        await take(limits, *obligations, **rows)
    assert caught.value.reason is Reason.LIMITER_UNAVAILABLE
    assert counted(limits) == {(rule, "closed"): 1}
    limits = down(**settings, when_down=WhenDownSettings.model_validate({rule: "open"}))
    for _ in range(3):
        await take(limits, *obligations, **rows)
    assert counted(limits) == {(rule, "open"): 3}
    limits = down(**settings, when_down=WhenDownSettings.model_validate({rule: "local"}))
    await take(limits, *obligations, **rows)
    with pytest.raises(Refusal) as caught:
        await take(limits, *obligations, **rows)
    assert LIMIT_REASONS[rule] is caught.value.reason
    assert caught.value.retry_after_ms == 10_000
    assert counted(limits) == {(rule, "local"): 2}


async def test_one_closed_rule_refuses_whatever_the_others_say() -> None:
    """Those that are not closed were not applied, and are not counted; nothing is taken here."""
    when_down = WhenDownSettings(tool="local", agent="open")
    limits = down(tenant=NARROW, agent=NARROW, when_down=when_down)
    for _ in range(2):
        with pytest.raises(Refusal) as caught:
            await take(limits, tool=tool(rate=ONE))
        assert caught.value.reason is Reason.LIMITER_UNAVAILABLE
    assert counted(limits) == {("tenant", "closed"): 2}


async def test_open_and_local_rules_each_do_their_own() -> None:
    """An open one passes, and the local one beside it still counts."""
    limits = down(tenant=NARROW, when_down=WhenDownSettings(tenant="open", tool="local"))
    rows = {"tool": tool(rate=Rate(per_minute=6, burst=2))}
    await take(limits, **rows)
    await take(limits, **rows)
    with pytest.raises(Refusal) as caught:
        await take(limits, **rows)
    assert caught.value.reason is Reason.TOOL_RATE
    assert counted(limits) == {("tenant", "open"): 3, ("tool", "local"): 3}


async def test_local_is_a_replicas_part() -> None:
    """Rate and burst are divided, and one call at once is always left."""
    clock = FakeClock()
    limits = down(clock, when_down=WhenDownSettings(tool="local", connection="local", replicas=4))
    rows = {
        "tool": tool(rate=Rate(per_minute=240, burst=9)),
        "connection": connection(rate=Rate(per_minute=4, burst=2)),
    }
    await take(limits, **rows)
    with pytest.raises(Refusal) as caught:
        await take(limits, **rows)
    assert (caught.value.reason, caught.value.retry_after_ms) == (Reason.CONNECTION_RATE, 60_000)
    rows.pop("connection")
    await take(limits, **rows)
    with pytest.raises(Refusal) as caught:
        await take(limits, **rows)
    assert (caught.value.reason, caught.value.retry_after_ms) == (Reason.TOOL_RATE, 1_000)
    clock.advance(1.0)
    await take(limits, **rows)


@pytest.mark.parametrize("side_effect", [SideEffect.WRITE, SideEffect.SEND])
@pytest.mark.parametrize("mode", ["open", "local"])
async def test_a_write_or_send_is_refused_whatever_the_settings_say(side_effect: SideEffect, mode: Any) -> None:
    """And counted as closed."""
    limits = down(when_down=WhenDownSettings(tool=mode, agent=mode))
    with pytest.raises(Refusal) as caught:
        await take(limits, tool=tool(rate=ONE, side_effect=side_effect), agent=agent(rate=ONE))
    assert caught.value.reason is Reason.LIMITER_UNAVAILABLE
    assert counted(limits) == {("tool", "closed"): 1, ("agent", "closed"): 1}


async def test_every_rule_and_mode_is_there_from_the_start() -> None:
    """So that a metric of it is nought and not absent."""
    limits = Limits(FakeLimiter(), LimitSettings())
    modes = ("closed", "open", "local")
    assert limits.counts == {
        (rule, mode): 0 for rule in WhenDownSettings.model_fields.keys() - {"replicas"} for mode in modes
    }
    assert set(RULES) == set(LIMIT_REASONS)


async def test_nothing_is_counted_while_the_limiter_can_tell() -> None:
    """A refusal by a rate is none of these."""
    limits = Limits(FakeLimiter(), LimitSettings(when_down=ALL_OPEN))
    await take(limits, tool=tool(rate=ONE))
    with pytest.raises(Refusal):
        await take(limits, tool=tool(rate=ONE))
    assert counted(limits) == {}


@pytest.mark.parametrize("fault", [Fault.TIMEOUT, Fault.REFUSED, Fault.ERROR, Fault.MALFORMED])
async def test_a_refusal_says_how_the_limiter_failed(fault: Fault) -> None:
    """For the audit line, not for the agent."""

    class Down(FakeLimiter):
        """Down in that way."""

        async def take(self, checks: object) -> tuple[int, float]:
            """Fail."""
            raise LimiterDown("vendor's text", fault)

    with pytest.raises(Refusal) as caught:
        await take(Limits(Down(), LimitSettings()), tool=tool(rate=ONE))
    assert (caught.value.reason, caught.value.fault) == (Reason.LIMITER_UNAVAILABLE, fault)
    assert "vendor" not in caught.value.message


async def test_a_limiter_that_breaks_its_contract_refuses() -> None:
    """Whatever it raises is `limiter_unavailable`."""

    class Broken(FakeLimiter):
        """Raises what no limiter should."""

        async def take(self, checks: object) -> tuple[int, float]:
            """Fail."""
            raise TimeoutError

    with pytest.raises(Refusal) as caught:
        await take(Limits(Broken(), LimitSettings()), tool=tool(rate=ONE))
    assert (caught.value.reason, caught.value.fault) == (Reason.LIMITER_UNAVAILABLE, Fault.TIMEOUT)
