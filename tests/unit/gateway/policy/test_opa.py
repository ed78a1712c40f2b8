"""The policy in an OPA: only an examined revision of the wanted bundle decides, and only while it is fresh."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from fakes import opa as fake
from fakes.clock import FakeClock
from fakes.opa import ALLOW, BUNDLE, FakeFloor, FakeOpa, Handler, served
from fakes.packs import document_json

from adapters.base import Fault
from gateway.call import DecisionEffect
from gateway.errors import Reason, Refusal
from gateway.policy.opa import TICK_SECONDS, OpaEngine
from gateway.policy.opa_state import MAX_FAILURES
from gateway.settings.policy import OpaSettings

INPUT = document_json()


class Stand:
    """An engine on a fake OPA and a clock that stands still."""

    def __init__(self, **settings: object) -> None:
        self.opa = FakeOpa()
        self.clock = FakeClock()
        self.opa.heard_at = self.clock.now
        self.floor = FakeFloor()
        self.events: list[tuple[str, Mapping[str, str]]] = []
        self._settings = {"bundle": BUNDLE, "timeout_ms": 200, **settings}
        self.engine: OpaEngine

    @asynccontextmanager
    async def running(self) -> AsyncIterator[OpaEngine]:
        """The engine, started."""
        async with served(self.opa) as url:
            settings = OpaSettings.model_validate({"url": url, **self._settings})
            self.engine = OpaEngine(
                settings,
                clock=self.clock,
                floor=self.floor,
                on_event=lambda name, fields: self.events.append((name, fields)),
            )
            await self.engine.start()
            await _until(lambda: self.clock.sleepers == 1)
            yield self.engine
            await self.engine.stop()

    async def tick(self, seconds: float = TICK_SECONDS) -> None:
        """Let time pass, and the watcher do what it then does."""
        self.clock.advance(seconds)
        await _until(lambda: self.clock.sleepers == 1)

    async def refused(self) -> tuple[Reason, Fault | None]:
        """Reason and fault of a call that is refused."""
        with pytest.raises(Refusal) as caught:
            await self.engine.decide(INPUT)
        return caught.value.reason, caught.value.fault


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not is_so():
            await asyncio.sleep(0)


NOT_LOADED = (Reason.POLICY_NOT_LOADED, Fault.NOT_LOADED)


async def test_it_is_ready_after_start_and_decides() -> None:
    """With the revision that the reply names."""
    stand = Stand()
    async with stand.running() as engine:
        status = engine.status()
        assert (status.is_ready, status.revision, status.problem) == (True, "r1", "")
        decision = await engine.decide(INPUT)
        assert (decision.effect, decision.revision, engine.revision) == (DecisionEffect.ALLOW, "r1", "r1")
    assert stand.events == [("policy_activated", {"revision": "r1", "before": ""})]


G07_VALUES = [
    b'{"result":null}',
    b'{"result":{}}',
    b'{"result":"true"}',
    b'{"result":true}',
    b'{"result":[]}',
    b'{"result":{"verdict":"ALLOW "}}',
    b'{"result":{"verdict":"allow","verdict2":1}}',
    b'{"result":{"effect":"ALLOW ","reasons":[],"obligations":[]}}',
    b'{"result":{"effect":"allow","reasons":[],"obligations":[],"extra":1}}',
    b'{"result":[{"effect":"allow","reasons":[],"obligations":[]},{"effect":"deny","reasons":[],"obligations":[]}]}',
    b'{"result":{"effect":"allow","reasons":[],"obligations":[{"type":"dance","value":true}]}}',
]


@pytest.mark.parametrize("body", G07_VALUES)
async def test_g07_what_is_not_exactly_a_decision_is_invalid(body: bytes) -> None:
    """G07: no other shape of a result allows."""
    stand = Stand()
    async with stand.running():
        stand.opa.body = body
        assert await stand.refused() == (Reason.POLICY_INVALID, Fault.MALFORMED)


async def test_g07_an_empty_answer_is_undefined() -> None:
    """G07: no rule matches; that is another reason than a wrong answer."""
    stand = Stand()
    async with stand.running():
        stand.opa.body = b"{}"
        assert await stand.refused() == (Reason.POLICY_UNDEFINED, None)


@pytest.mark.parametrize(
    ("handler", "fault"),
    [
        (fake.hangs, Fault.TIMEOUT),
        (fake.drips, Fault.TIMEOUT),
        (fake.closes, Fault.RESET),
        (fake.truncates, Fault.RESET),
        (fake.gibbers, Fault.MALFORMED),
        (fake.redirects, Fault.MALFORMED),
        (fake.bloats, Fault.MALFORMED),
        (fake.status(401), Fault.REFUSED),
        (fake.status(500, {"code": "internal_error", "message": "evaluation"}), Fault.ERROR),
    ],
)
async def test_g07_an_opa_that_cannot_answer_is_unavailable(handler: Handler, fault: Fault) -> None:
    """G07: truncated, hanging, failing: each has a fault of its own, and one failure changes nothing else."""
    stand = Stand()
    async with stand.running() as engine:
        stand.opa.on_call = handler
        assert await stand.refused() == (Reason.POLICY_UNAVAILABLE, fault)
        assert engine.status().is_ready
        stand.opa.on_call = None
        assert (await engine.decide(INPUT)).effect is DecisionEffect.ALLOW


@pytest.mark.parametrize("body", [b'{"result":', b"nonsense", b'{"result":1,"result":2}', b"[]"])
async def test_g07_garbage_is_unavailable(body: bytes) -> None:
    """G07: what is no strict JSON is no answer of a policy."""
    stand = Stand()
    async with stand.running():
        stand.opa.body = body
        assert await stand.refused() == (Reason.POLICY_UNAVAILABLE, Fault.MALFORMED)


async def test_no_text_of_opa_reaches_an_agent() -> None:
    """The message is ours; what OPA said goes to the log, without values."""
    stand = Stand()
    async with stand.running() as engine:
        stand.opa.on_call = fake.status(500, {"code": "internal_error", "message": "at p.rego:7"})
        with pytest.raises(Refusal) as caught:
            await engine.decide(INPUT)
    assert "p.rego" not in caught.value.message
    assert stand.events[-1] == (
        "policy_failed",
        {"error": "OPA answered with status 500: internal_error: at p.rego:7", "revision": "r1"},
    )


async def test_g08_without_the_bundle_it_is_not_ready_and_asks_nobody() -> None:
    """G08: until the wanted bundle is active every call is refused; a tick after it is, all is well."""
    stand = Stand()
    stand.opa.revision = ""
    stand.opa.error = {"code": "bundle_error", "message": "connection refused"}
    async with stand.running() as engine:
        status = engine.status()
        assert not status.is_ready
        assert status.problem == "the bundle authz is not active in OPA: bundle_error: connection refused"
        assert await stand.refused() == NOT_LOADED
        assert stand.opa.calls == []
        stand.opa.revision, stand.opa.error = "r1", {}
        await stand.tick()
        assert engine.status().is_ready
        assert (await engine.decide(INPUT)).effect is DecisionEffect.ALLOW


@pytest.mark.parametrize(
    ("handler", "problem"),
    [
        (lambda opa: opa.reply({"result": ALLOW}), "it allows a call of nobody"),
        (lambda opa: opa.reply({"result": 1}), "is not a decision"),
        (lambda _opa: web.json_response({"code": "internal_error"}, status=500), "OPA fails on a call of nobody"),
        (lambda _opa: web.json_response({}), "has no revision"),
    ],
)
async def test_g08_a_revision_that_fails_its_self_test_never_decides(
    handler: Callable[[FakeOpa], web.Response], problem: str
) -> None:
    """G08: it has to make something proper of a call of nobody, and must not let it in. It is told once."""
    stand = Stand()

    async def answer(_request: web.Request) -> web.StreamResponse:
        return handler(stand.opa)

    stand.opa.on_probe = answer
    async with stand.running() as engine:
        await stand.tick()
        assert problem in engine.status().problem
        assert await stand.refused() == NOT_LOADED
    assert [name for name, _ in stand.events] == ["policy_rejected"]


async def test_undefined_for_nobody_is_a_proper_answer() -> None:
    """A policy without a default refuses nobody by saying nothing."""
    stand = Stand()

    async def answer(_request: web.Request) -> web.StreamResponse:
        return stand.opa.reply({})

    stand.opa.on_probe = answer
    async with stand.running() as engine:
        assert engine.status().is_ready


async def test_a_new_revision_decides_without_a_gap() -> None:
    """OPA changed it between two looks: the first calls that see it have it examined, once for all of them."""
    stand = Stand()
    async with stand.running() as engine:
        stand.opa.revision = "r2"
        stand.opa.seen.clear()
        decisions = await asyncio.gather(*(engine.decide(INPUT) for _ in range(10)))
        assert {decision.revision for decision in decisions} == {"r2"}
        assert len(stand.opa.seen) == 12, "ten calls, and a call of nobody for each of the two rules"
        assert engine.revision == "r2"
    assert stand.events[-1] == ("policy_activated", {"revision": "r2", "before": "r1"})


async def test_an_older_revision_is_not_used() -> None:
    """Neither when a reply brings it nor when a look finds it; the newest one comes back by itself."""
    stand = Stand()
    stand.opa.revision = "r2"
    async with stand.running() as engine:
        stand.opa.revision = "r1"
        assert await stand.refused() == NOT_LOADED
        await stand.tick()
        assert engine.status().problem == "revision r1: it is older"
        assert await stand.refused() == NOT_LOADED
        stand.opa.revision = "r2"
        await stand.tick()
        assert engine.status().is_ready
    assert stand.floor.newest == "r2"


async def test_the_floor_outlives_the_engine() -> None:
    """A restart does not make an old revision good."""
    stand = Stand()
    stand.floor = FakeFloor("r9")
    async with stand.running() as engine:
        assert not engine.status().is_ready
        assert await stand.refused() == NOT_LOADED


async def test_a_floor_that_cannot_be_kept_lets_nothing_decide() -> None:
    """Without it a later rollback would not be noticed."""

    class Broken(FakeFloor):
        def raise_to(self, revision: str) -> None:
            raise OSError

    stand = Stand()
    stand.floor = Broken()
    async with stand.running() as engine:
        assert engine.status().problem == "the bundle cannot be examined (OSError)"
        assert await stand.refused() == NOT_LOADED


async def test_a_reply_without_the_bundle_is_not_loaded() -> None:
    """OPA was started again and has no policy yet: its empty answer is nobody's decision."""
    stand = Stand()
    async with stand.running() as engine:
        stand.opa.revision = ""
        stand.opa.body = json.dumps({"result": ALLOW}).encode()
        assert await stand.refused() == NOT_LOADED
        await stand.tick()
        assert not engine.status().is_ready


async def test_a_policy_that_is_too_old_does_not_decide() -> None:
    """The age is by what OPA says it last heard; a newer answer of the bundle service ends it."""
    stand = Stand(max_age_seconds=60)
    async with stand.running() as engine:
        heard = stand.clock.now()
        stand.opa.heard_at = lambda: heard
        stand.opa.error = {"code": "bundle_error", "message": "no route"}
        await stand.tick(59)
        assert (engine.status().is_ready, round(engine.status().age_seconds)) == (True, 59)
        assert engine.status().problem == "OPA has no newer bundle: bundle_error: no route"
        await stand.tick(2)
        assert engine.status().problem == "OPA has not heard from its bundle service for 61 s"
        assert await stand.refused() == NOT_LOADED
        stand.opa.heard_at = stand.clock.now
        await stand.tick()
        assert engine.status().is_ready
    assert [name for name, _ in stand.events] == ["policy_activated", "policy_rejected"]


async def test_a_policy_that_is_too_old_already_never_decides() -> None:
    """OPA kept it while its bundle service was away; a gateway that starts now sees that."""
    stand = Stand(max_age_seconds=60)
    heard = stand.clock.now() - 61
    stand.opa.heard_at = lambda: heard
    async with stand.running() as engine:
        assert (engine.status().is_ready, round(engine.status().age_seconds)) == (False, 61)
        assert await stand.refused() == NOT_LOADED


async def test_looks_that_fail_let_the_policy_age() -> None:
    """OPA decides, but does not say how old its policy is."""
    stand = Stand(max_age_seconds=60)
    async with stand.running() as engine:
        stand.opa.on_status = fake.status(500, {"code": "internal_error", "message": "status plugin not enabled"})
        await stand.tick(59)
        assert engine.status().is_ready
        assert "status plugin not enabled" in engine.status().problem
        assert (await engine.decide(INPUT)).effect is DecisionEffect.ALLOW
        await stand.tick(2)
        assert await stand.refused() == NOT_LOADED
    assert [name for name, _ in stand.events].count("policy_unreachable") == 1


async def test_a_clock_of_opas_that_is_ahead_does_not_keep_a_policy_fresh() -> None:
    """Its time is believed only while it moves."""
    stand = Stand(max_age_seconds=60)
    ahead = stand.clock.now() + 100_000
    stand.opa.heard_at = lambda: ahead
    async with stand.running() as engine:
        assert engine.status().is_ready
        await stand.tick(61)
        assert not engine.status().is_ready


async def test_a_policy_that_was_never_heard_of_is_stale() -> None:
    """OPA took it from its disk: nobody knows how old it is."""
    stand = Stand()
    stand.opa.heard_at = lambda: 0.0
    async with stand.running() as engine:
        assert not engine.status().is_ready
        assert await stand.refused() == NOT_LOADED


async def test_a_frozen_opa_does_not_gather_waiters() -> None:
    """After a few timeouts in a row calls are refused at once; the look after it answers again lets them through."""
    stand = Stand(timeout_ms=50)
    async with stand.running() as engine:
        stand.opa.on_call = fake.hangs
        for _ in range(MAX_FAILURES):
            assert await stand.refused() == (Reason.POLICY_UNAVAILABLE, Fault.TIMEOUT)
        asked = len(stand.opa.calls)
        assert await stand.refused() == (Reason.POLICY_UNAVAILABLE, Fault.TIMEOUT)
        assert len(stand.opa.calls) == asked
        assert engine.status().problem == "OPA does not answer (timeout)"
        stand.opa.on_call = None
        await stand.tick()
        assert (await engine.decide(INPUT)).effect is DecisionEffect.ALLOW
    assert [name for name, _ in stand.events].count("policy_failed") == 1


async def test_only_failures_in_a_row_open_the_breaker() -> None:
    """An answer in between shows that OPA lives."""
    stand = Stand()
    async with stand.running() as engine:
        for _ in range(3):
            stand.opa.on_call = fake.closes
            for _ in range(MAX_FAILURES - 1):
                assert await stand.refused() == (Reason.POLICY_UNAVAILABLE, Fault.RESET)
            stand.opa.on_call = None
            assert (await engine.decide(INPUT)).effect is DecisionEffect.ALLOW


async def test_a_self_test_without_an_answer_rejects_nothing() -> None:
    """It is made again; the new revision does not decide before it has passed."""
    stand = Stand()
    async with stand.running() as engine:
        stand.opa.revision, stand.opa.on_probe = "r2", fake.closes
        assert await stand.refused() == NOT_LOADED
        await stand.tick()
        assert (engine.revision, await stand.refused()) == ("r1", NOT_LOADED)
        stand.opa.on_probe = None
        assert (await engine.decide(INPUT)).revision == "r2"
    assert "policy_rejected" not in [name for name, _ in stand.events]


async def test_failed_evaluations_do_not_open_the_breaker() -> None:
    """OPA answers; that one document cannot be judged is no reason to refuse others."""
    stand = Stand()
    async with stand.running() as engine:
        stand.opa.on_call = fake.status(500)
        for _ in range(2 * MAX_FAILURES):
            assert await stand.refused() == (Reason.POLICY_UNAVAILABLE, Fault.ERROR)
        stand.opa.on_call = None
        assert (await engine.decide(INPUT)).effect is DecisionEffect.ALLOW


async def test_an_idle_engine_notices_that_opa_is_gone() -> None:
    """Looks count as well, and are made at every tick then."""
    stand = Stand()
    async with stand.running() as engine:
        stand.opa.on_anything = fake.closes
        await stand.tick(1.0)
        for _ in range(MAX_FAILURES):
            await stand.tick()
        assert engine.status().problem == "OPA does not answer (reset)"
        assert await stand.refused() == (Reason.POLICY_UNAVAILABLE, Fault.RESET)
        stand.opa.on_anything = None
        await stand.tick()
        assert engine.status().is_ready


async def test_a_listener_that_fails_ends_no_watching() -> None:
    """OPA is looked at again whatever came of telling."""
    kit = Stand()
    async with kit.running() as engine:
        engine._on_event = _broken_listener
        kit.opa.revision = ""
        await kit.tick(1.0)
        assert not engine.status().is_ready
        engine._on_event = lambda _name, _fields: None
        kit.opa.revision = "r1"
        await kit.tick()
        assert engine.status().is_ready


def _broken_listener(_name: str, _fields: Mapping[str, str]) -> None:
    raise RuntimeError


async def test_it_is_looked_at_as_often_as_the_settings_say() -> None:
    """While all is well."""
    stand = Stand(poll_seconds=5)
    async with stand.running():
        stand.opa.seen.clear()
        for _ in range(4):
            await stand.tick(1.0)
        assert stand.opa.seen == []
        await stand.tick(1.1)
        assert [path for _, path, _ in stand.opa.seen] == ["/v1/status"]


async def test_start_does_not_wait_for_an_opa_that_is_away(tmp_path: Path) -> None:
    """Until it comes everything is refused; stopping twice is harmless."""
    settings = OpaSettings(url=f"unix:{tmp_path / 'none.sock'}", bundle=BUNDLE)
    engine = OpaEngine(settings, clock=FakeClock(), floor=FakeFloor())
    assert engine.status().problem == "OPA was not asked yet"
    await engine.start()
    assert engine.status().problem == "OPA cannot be reached"
    with pytest.raises(Refusal) as caught:
        await engine.decide(INPUT)
    assert caught.value.reason is Reason.POLICY_NOT_LOADED
    await engine.stop()
    await engine.stop()


async def test_the_token_is_read_from_its_file(tmp_path: Path) -> None:
    """And never shown."""
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    stand = Stand(token_file=token)
    async with stand.running() as engine:
        assert "s3cret" not in repr(vars(engine))
        assert {headers["Authorization"] for _, _, headers in stand.opa.seen} == {"Bearer s3cret"}


@pytest.mark.parametrize(("answer", "fault"), [(fake.gibbers, Fault.MALFORMED), (fake.status(500), Fault.ERROR)])
async def test_an_opa_that_fails_every_look_is_not_ready(answer: Handler, fault: Fault) -> None:
    """Whatever it answers instead: calls are refused at once, and with its first good answer it is back."""
    stand = Stand()
    async with stand.running() as engine:
        stand.opa.on_anything = answer
        await stand.tick(1.0)
        for _ in range(MAX_FAILURES - 1):
            assert engine.status().is_ready
            await stand.tick()
        status = engine.status()
        assert (status.is_ready, status.is_open, status.problem) == (False, True, f"OPA does not answer ({fault})")
        assert await stand.refused() == (Reason.POLICY_UNAVAILABLE, fault)
        stand.opa.on_anything = None
        await stand.tick()
        assert engine.status().is_ready
