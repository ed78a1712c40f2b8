"""What holds for every policy engine: only an exact, well-formed allow allows."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from fakes.engine import FakeEngine
from fakes.packs import ALLOW_ALL, DENY_ALL, document_json, pack, write_pack
from fakes.trials import try_here

from adapters.base import Fault
from gateway.call import DecisionEffect
from gateway.errors import Reason, Refusal
from gateway.policy.base import Engine
from gateway.policy.embedded import EmbeddedEngine
from gateway.policy.reload import ReloadingEngine

Make = Callable[[str], Awaitable[Engine]]


@pytest.fixture(params=["embedded", "reloading", "fake"])
async def make(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Make]:
    """Builds an engine that answers with one JSON text; the empty text stands for no answer."""
    reloading: list[ReloadingEngine] = []

    async def build(answer: str) -> Engine:
        if request.param == "fake":
            return FakeEngine(answer or None)
        # What the probe at load sees has to be well-formed, so the odd answer is for real calls only.
        rule = (
            f'decision := {answer} if {{ input.principal.tenant != "" }}'
            if answer
            else 'decision := 1 if { "" == "x" }'
        )
        if request.param == "embedded":
            return EmbeddedEngine(pack(rule))
        engine = ReloadingEngine([write_pack(tmp_path / "policy", rule)], clock=FakeClock(), try_out=try_here)
        await engine.start()
        reloading.append(engine)
        return engine

    yield build
    for engine in reloading:
        await engine.stop()


async def _decide(make: Make, answer: str) -> Reason | DecisionEffect:
    engine = await make(answer)
    try:
        return (await engine.decide(document_json())).effect
    except Refusal as refusal:
        return refusal.reason


@pytest.mark.parametrize("effect", list(DecisionEffect))
async def test_a_decision_is_read_as_it_is(make: Make, effect: DecisionEffect) -> None:
    """Effect, reasons and obligations come back, under the revision that decided."""
    answer = {
        "effect": effect,
        "reasons": [{"code": "because", "message": "m", "advice": "a"}],
        "obligations": [{"type": "redact", "value": {"paths": ["/a"]}}],
    }
    engine = await make(json.dumps(answer))
    decision = await engine.decide(document_json())
    assert decision.effect is effect
    assert [(reason.code, reason.message, reason.advice) for reason in decision.reasons] == [("because", "m", "a")]
    assert [(each.type, each.value) for each in decision.obligations] == [("redact", {"paths": ["/a"]})]
    assert decision.revision == engine.revision != ""


async def test_the_name_is_not_empty(make: Make) -> None:
    """What decides can be named on the audit line."""
    assert (await make('{"effect": "deny", "reasons": [], "obligations": []}')).name


MALFORMED = [
    "{}",
    "null",
    "[]",
    "true",
    "1",
    '""',
    '"true"',
    '"allow"',
    '"<undefined>"',
    '{"result": {}}',
    '{"verdict": "allow"}',
    '{"effect": "allow"}',
    '{"effect": "allow", "reasons": []}',
    '{"effect": "ALLOW", "reasons": [], "obligations": []}',
    '{"effect": "ALLOW ", "reasons": [], "obligations": []}',
    '{"effect": "allow ", "reasons": [], "obligations": []}',
    '{"effect": "permit", "reasons": [], "obligations": []}',
    '{"effect": true, "reasons": [], "obligations": []}',
    '{"effect": null, "reasons": [], "obligations": []}',
    '{"effect": ["allow"], "reasons": [], "obligations": []}',
    '{"effect": "allow", "effect2": "allow", "reasons": [], "obligations": []}',
    '{"effect": "allow", "reasons": [], "obligations": [], "extra": 1}',
    '{"effect": "allow", "reasons": null, "obligations": []}',
    '{"effect": "allow", "reasons": {}, "obligations": []}',
    '{"effect": "allow", "reasons": ["no code"], "obligations": []}',
    '{"effect": "allow", "reasons": [{"message": "no code"}], "obligations": []}',
    '{"effect": "allow", "reasons": [{"code": "Not A Code"}], "obligations": []}',
    '{"effect": "allow", "reasons": [{"code": "a", "more": 1}], "obligations": []}',
    '{"effect": "allow", "reasons": [], "obligations": null}',
    '{"effect": "allow", "reasons": [], "obligations": [null]}',
    '{"effect": "allow", "reasons": [], "obligations": [{"type": "redact"}]}',
    '{"effect": "allow", "reasons": [], "obligations": [{"type": "dance", "value": true}]}',
    '{"effect": "allow", "reasons": [], "obligations": [{"type": "require_key", "value": false}]}',
    '{"effect": "allow", "reasons": [], "obligations": [{"type": "redact", "value": {"paths": ["no/pointer"]}}]}',
    '[{"effect": "allow", "reasons": [], "obligations": []}]',
    '[{"effect": "allow", "reasons": [], "obligations": []}, {"effect": "deny", "reasons": [], "obligations": []}]',
]


@pytest.mark.parametrize("answer", MALFORMED)
async def test_g07_what_is_not_exactly_a_decision_is_invalid(make: Make, answer: str) -> None:
    """G07: no other shape allows; each is refused as an invalid answer."""
    assert await _decide(make, answer) is Reason.POLICY_INVALID


async def test_g07_no_answer_is_undefined(make: Make) -> None:
    """G07: a policy without a matching rule refuses, with a reason of its own."""
    assert await _decide(make, "") is Reason.POLICY_UNDEFINED


@pytest.mark.parametrize(
    "body",
    [
        "decision := 1 / input.arguments.zero",
        "decision := to_number(input.arguments.word)",
        f"{ALLOW_ALL} if input.arguments.zero == 0\n\n{DENY_ALL} if input.arguments.zero == 0",
    ],
)
@pytest.mark.parametrize("kind", ["embedded", "reloading"])
async def test_g07_an_evaluation_error_is_unavailable(kind: str, body: str, tmp_path: Path) -> None:
    """G07: division by zero, two results and a failing built-in refuse, and say that the engine failed."""
    if kind == "embedded":
        engine: Engine = EmbeddedEngine(pack(body))
    else:
        engine = ReloadingEngine([write_pack(tmp_path, body)], clock=FakeClock(), try_out=try_here)
        await engine.start()
    with pytest.raises(Refusal) as caught:
        await engine.decide(document_json(arguments={"zero": 0, "word": "no number"}))
    assert (caught.value.reason, caught.value.fault) == (Reason.POLICY_UNAVAILABLE, Fault.ERROR)


@pytest.mark.parametrize("kind", ["embedded", "reloading"])
async def test_input_that_is_no_json_is_unavailable(kind: str, tmp_path: Path) -> None:
    """A broken input document refuses; it never leaves the former one in place."""
    if kind == "embedded":
        engine: Engine = EmbeddedEngine(pack(ALLOW_ALL))
    else:
        engine = ReloadingEngine([write_pack(tmp_path, ALLOW_ALL)], clock=FakeClock(), try_out=try_here)
        await engine.start()
    for broken in (b"{", b"\xff", b""):
        with pytest.raises(Refusal) as caught:
            await engine.decide(broken)
        assert caught.value.reason is Reason.POLICY_UNAVAILABLE


async def test_a_refusal_of_the_engine_is_the_answer() -> None:
    """A fake engine refuses as it is told to, so that tests of the path can rely on it."""
    engine = FakeEngine(Refusal(Reason.POLICY_UNAVAILABLE, "down"))
    with pytest.raises(Refusal) as caught:
        await engine.decide(document_json())
    assert caught.value.reason is Reason.POLICY_UNAVAILABLE
