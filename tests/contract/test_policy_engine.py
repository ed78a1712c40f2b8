"""What holds for every policy engine: only an exact, well-formed allow allows."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
from fakes.clock import FakeClock
from fakes.engine import FakeEngine
from fakes.opa import BUNDLE, FakeFloor
from fakes.opa_bundles import RealOpa, built_of, real_opa, until
from fakes.packs import ALLOW_ALL, DENY_ALL, admin_json, document_json, pack, write_pack
from fakes.trials import try_here

from adapters.base import Fault
from gateway.call import DecisionEffect
from gateway.clock import SystemClock
from gateway.errors import Reason, Refusal
from gateway.policy.base import Engine
from gateway.policy.embedded import EmbeddedEngine
from gateway.policy.opa import OpaEngine
from gateway.policy.pack import Module
from gateway.policy.reload import ReloadingEngine
from gateway.policy.source import FolderSource
from gateway.settings.policy import OpaSettings

Make = Callable[[str], Awaitable[Engine]]
Policy = Callable[[str, str], Awaitable[Engine]]

KINDS = ["embedded", "reloading", "opa"]
INDIRECT = """decision := {"effect": "deny", "reasons": [], "obligations": []} if input.principal.tenant == ""

decision := data.variant.decision if input.principal.tenant != ""
"""
ADMIN_INDIRECT = """package gateway.admin

decision := data.operators.decision if input.principal.tenant != ""
"""
"""OPA's bundle. What it decides for real calls stands in a package that a test may write, so that one OPA is enough."""


@pytest.fixture(scope="module")
def opa() -> Iterator[RealOpa]:
    """A real OPA with that bundle."""
    with real_opa(built_of(INDIRECT, "r1", admin=ADMIN_INDIRECT)) as running:
        yield running


@pytest.fixture
async def policy(opa: RealOpa, tmp_path: Path) -> AsyncIterator[Policy]:
    """Builds an engine of a kind that decides by some rules; every one is stopped at the end."""
    engines: list[Engine] = []

    async def build(kind: str, rules: str) -> Engine:
        if kind == "embedded":
            engine: Engine = EmbeddedEngine(pack(rules))
        elif kind == "reloading":
            source = FolderSource([write_pack(tmp_path / "policy", rules)])
            engine = ReloadingEngine(source, clock=FakeClock(), try_out=try_here)
        else:
            await _put(opa, f"package variant\n\n{rules}")
            settings = OpaSettings(url=opa.url, bundle=BUNDLE, timeout_ms=5000)
            engine = OpaEngine(settings, clock=SystemClock(), floor=FakeFloor())
        engines.append(engine)
        await engine.start()
        await until(lambda: engine.status().is_ready)
        return engine

    yield build
    for engine in engines:
        await engine.stop()


@pytest.fixture
async def operators(opa: RealOpa, tmp_path: Path) -> AsyncIterator[Policy]:
    """The same for the rule on operators: agents are denied everything; empty rules: there is none."""
    engines: list[Engine] = []

    async def build(kind: str, rules: str) -> Engine:
        text = f"package gateway.admin\n\n{rules}"
        if kind == "embedded":
            made = pack(DENY_ALL)
            more = (Module(name="admin.rego", text=text),) if rules else ()
            engine: Engine = EmbeddedEngine(replace(made, modules=(*made.modules, *more)))
        elif kind == "reloading":
            folder = write_pack(tmp_path / "policy", DENY_ALL)
            if rules:
                (folder / "admin.rego").write_text(text)
            engine = ReloadingEngine(FolderSource([folder]), clock=FakeClock(), try_out=try_here)
        else:
            await _put(opa, f"package operators\n\n{rules}", "operators")
            engine = OpaEngine(
                OpaSettings(url=opa.url, bundle=BUNDLE, timeout_ms=5000), clock=SystemClock(), floor=FakeFloor()
            )
        engines.append(engine)
        await engine.start()
        await until(lambda: engine.status().is_ready)
        return engine

    yield build
    for engine in engines:
        await engine.stop()


async def _put(opa: RealOpa, module: str, name: str = "variant") -> None:
    connector = aiohttp.UnixConnector(str(opa.socket))
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.put(f"http://opa/v1/policies/{name}", data=module) as response,
    ):
        assert response.status == 200, await response.text()


@pytest.fixture(params=[*KINDS, "fake"])
def make(request: pytest.FixtureRequest, policy: Policy) -> Make:
    """Builds an engine that answers with one JSON text; the empty text stands for no answer."""

    async def build(answer: str) -> Engine:
        if request.param == "fake":
            return FakeEngine(answer or None)
        # What the probe sees has to be well-formed, so the odd answer is for real calls only.
        rule = (
            f'decision := {answer} if {{ input.principal.tenant != "" }}'
            if answer
            else 'decision := 1 if { "" == "x" }'
        )
        return await policy(request.param, rule)

    return build


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
@pytest.mark.parametrize("kind", KINDS)
async def test_g07_an_evaluation_error_is_unavailable(kind: str, body: str, policy: Policy) -> None:
    """G07: division by zero, two results and a failing built-in refuse, and say that the engine failed."""
    engine = await policy(kind, body)
    with pytest.raises(Refusal) as caught:
        await engine.decide(document_json(arguments={"zero": 0, "word": "no number"}))
    assert (caught.value.reason, caught.value.fault) == (Reason.POLICY_UNAVAILABLE, Fault.ERROR)


@pytest.mark.parametrize("kind", KINDS)
async def test_input_that_is_no_json_is_unavailable(kind: str, policy: Policy) -> None:
    """A broken input document refuses; it never leaves the former one in place."""
    engine = await policy(kind, ALLOW_ALL)
    for broken in (b"{", b"\xff", b""):
        with pytest.raises(Refusal) as caught:
            await engine.decide(broken)
        assert caught.value.reason is Reason.POLICY_UNAVAILABLE


async def test_it_is_ready_while_it_decides(make: Make) -> None:
    """The status names the revision of the decisions, and no problem; asking for it asks nobody."""
    engine = await make('{"effect": "deny", "reasons": [], "obligations": []}')
    status = engine.status()
    assert (status.is_ready, status.revision, status.problem) == (True, engine.revision, "")
    assert 0.0 <= status.age_seconds < 60.0


async def test_it_can_be_stopped_again(make: Make) -> None:
    """Whoever ends a gateway need not know what was ended before."""
    engine = await make('{"effect": "deny", "reasons": [], "obligations": []}')
    await engine.stop()
    await engine.stop()


async def test_a_refusal_of_the_engine_is_the_answer() -> None:
    """A fake engine refuses as it is told to, so that tests of the path can rely on it."""
    engine = FakeEngine(Refusal(Reason.POLICY_UNAVAILABLE, "down"))
    with pytest.raises(Refusal) as caught:
        await engine.decide(document_json())
    assert caught.value.reason is Reason.POLICY_UNAVAILABLE


def _for_real(answer: str) -> str:
    """A rule that answers so to everybody but the nobody that a policy is tried on."""
    return f'decision := {answer} if {{ input.principal.tenant != "" }}'


@pytest.mark.parametrize("kind", KINDS)
async def test_operators_are_decided_on_by_a_rule_of_their_own(kind: str, operators: Policy) -> None:
    """Under the same revision, whatever agents may."""
    allow = ALLOW_ALL.partition(":=")[2]
    engine = await operators(kind, _for_real(allow))
    decision = await engine.decide_admin(admin_json())
    assert (decision.effect, decision.revision) == (DecisionEffect.ALLOW, engine.revision)
    assert (await engine.decide(document_json())).effect is not DecisionEffect.ALLOW


@pytest.mark.parametrize("kind", KINDS)
async def test_without_a_rule_for_operators_they_may_nothing(kind: str, operators: Policy) -> None:
    """Undefined, which is a refusal."""
    engine = await operators(kind, "")
    with pytest.raises(Refusal) as caught:
        await engine.decide_admin(admin_json())
    assert caught.value.reason is Reason.POLICY_UNDEFINED


@pytest.mark.parametrize("kind", KINDS)
async def test_g07_an_operator_needs_exactly_a_decision_too(kind: str, operators: Policy) -> None:
    """G07: no other shape allows, and an evaluation that fails is told as such."""
    for answer, want in (("true", Reason.POLICY_INVALID), ("1 / input.admin.zero", Reason.POLICY_UNAVAILABLE)):
        engine = await operators(kind, _for_real(answer))
        with pytest.raises(Refusal) as caught:
            await engine.decide_admin(admin_json(admin={"zero": 0}))
        assert caught.value.reason is want
