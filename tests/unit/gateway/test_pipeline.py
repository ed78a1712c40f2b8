"""The path: nothing runs after a refusal, an effect happens once, a call leaves one line, whoever leaves whenever."""

import asyncio
import errno
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from fakes.adapter import FakeAdapter
from fakes.audit import until
from fakes.engine import ALLOW, FakeEngine
from fakes.keys import DictKeys, DictTenants
from fakes.path import HIDDEN, TOKEN, Road, ended, road
from fakes.principals import principal
from fakes.sink import ListSink

from adapters.base import AdapterError, ErrorKind, Happened, Output, Text
from gateway.audit.base import Line
from gateway.audit.trail import Trail
from gateway.call import Answer, Decision, DecisionEffect, Failure, Known, Pending, Result, Whose
from gateway.errors import Reason, Refusal
from gateway.idempotency.base import Claim

NOTE = '{"path":"a.txt","body":"hi"}'
SEALED = "note_sealed"
STEPS = ("begin", "registry", "arguments", "idempotency", "policy", "limits", "claim", "credentials", "audit")
"""The steps that ask a part for something, in order; approvals are asked instead of limits, scopes of nothing."""


class Panic(BaseException):
    """As a Rust extension raises it: no Exception."""


def reason_of(answer: Answer) -> Reason:
    """Why the call was stopped."""
    assert isinstance(answer.outcome, Failure)
    return answer.outcome.reason


def refuse(reason: Reason) -> Callable[[], None]:
    """Something that refuses when it is asked."""

    def do() -> None:
        raise Refusal(reason, "No.")

    return do


def raising(error: BaseException) -> Callable[[], None]:
    """Something that fails as it must not."""

    def do() -> None:
        raise error

    return do


# After a refusal no later step has run.


async def test_a_call_asks_every_part_in_order() -> None:
    """The order of the path, as its parts see it."""
    async with road() as one:
        await one.call(SEALED, NOTE, key="k")
        assert list(STEPS) == one.seen
        assert one.effects == 1


@pytest.mark.parametrize("step", STEPS[1:-1])
async def test_after_a_refusal_no_later_step_has_run(step: str) -> None:
    """Whichever part refuses: it is the last that was asked, but for the line, and nothing was sent."""
    async with road() as one:
        one.hook(step, refuse(Reason.POLICY_UNAVAILABLE))
        answer = await one.call(SEALED, NOTE, key="k")
        assert isinstance(answer.outcome, Failure)
        assert [*STEPS[: STEPS.index(step) + 1], "audit"] == one.seen
        assert one.effects == 0
        assert len(one.lines) == 1


async def test_after_a_refusal_of_scopes_nothing_is_even_parsed() -> None:
    """The arguments of a caller who may not call are not looked at."""
    async with road(caller=principal(scopes=frozenset())) as one:
        assert reason_of(await one.call(SEALED, "no json")) is Reason.SCOPE_MISSING
        assert one.seen == ["begin", "registry", "audit"]


async def test_a_call_that_cannot_begin_runs_no_step() -> None:
    """No begin, no call: the refusal is raised, nothing else was asked, no line."""
    async with road() as one:
        one.hook("begin", refuse(Reason.JOURNAL_UNAVAILABLE))
        with pytest.raises(Refusal):
            await one.call()
        assert one.seen == ["begin"]
        assert one.lines == []


async def test_a_parked_call_asks_for_no_limit_and_runs_nothing() -> None:
    """A parked call costs nothing of what it may need later."""
    engine = FakeEngine('{"effect":"require_approval","reasons":[],"obligations":[]}')
    async with road(engine=engine) as one:
        await one.call(SEALED, NOTE, key="k")
        assert one.seen == [*STEPS[:5], "approvals", "audit"]
        assert one.effects == 0


async def test_a_call_that_cannot_be_parked_runs_nothing() -> None:
    """Nobody waits, nothing is sent, and the key is free for another attempt."""
    engine = FakeEngine('{"effect":"require_approval","reasons":[],"obligations":[]}')
    async with road(engine=engine) as one:
        one.hook("approvals", refuse(Reason.APPROVALS_UNAVAILABLE))
        assert reason_of(await one.call(SEALED, NOTE, key="k")) is Reason.APPROVALS_UNAVAILABLE
        assert one.seen == [*STEPS[:5], "approvals", "audit"]
        assert (one.approvals.parked, one.effects) == ([], 0)
        assert isinstance((await one.call(SEALED, NOTE, key="k")).outcome, Pending)


async def test_a_stopped_tool_is_found_before_anything_of_the_call_is_read() -> None:
    """No parsing, no key, no policy, though everything in the call is wrong."""
    async with road() as one:
        one.halts.tools.add(SEALED)
        assert reason_of(await one.call(SEALED, "no json", key="k")) is Reason.STOPPED
        assert one.seen == ["begin", "registry", "audit"]


async def test_what_is_stopped_while_its_credential_is_fetched_is_not_sent() -> None:
    """Asked again right before the send: nothing happened, and the key is free once it may run again."""
    async with road() as one:
        one.hook("credentials", lambda: one.halts.tools.add(SEALED))
        assert reason_of(await one.call(SEALED, NOTE, key="k")) is Reason.STOPPED
        assert list(STEPS) == one.seen
        (line,) = one.lines
        assert (line["stopped_at"], line["happened"]) == ("adapter", "no")
        one.halts.tools.clear()
        assert isinstance((await one.call(SEALED, NOTE, key="k")).outcome, Result)
        assert one.effects == 1


async def test_a_store_that_goes_away_before_the_claim_sends_nothing() -> None:
    """The key was looked up and cannot be taken: no credential is fetched."""
    async with road() as one:
        keys = one.keys.of("acme")
        one.hook("claim", lambda: setattr(keys, "is_down", True))
        assert reason_of(await one.call(SEALED, NOTE, key="k")) is Reason.STORE_UNAVAILABLE
        assert one.seen == [*STEPS[: STEPS.index("claim") + 1], "audit"]
        keys.is_down = False
        assert isinstance((await one.call(SEALED, NOTE, key="k")).outcome, Result)
        assert one.effects == 1


async def test_the_intent_in_the_store_tells_what_the_line_would() -> None:
    """Who, what, by which decision, and of the arguments their digest alone: nothing private."""
    async with road() as one:
        await one.call("note", NOTE, key="k")
        (raw,) = one.keys.of("acme").intents
        intent, (line,) = json.loads(raw), one.lines
        same = (
            "call_id",
            "effect_id",
            "tool",
            "tool_version",
            "connection",
            "decision",
            "key_digest",
            "arguments_digest",
        )
        assert [intent[name] for name in same] == [line[name] for name in same]
        assert "hi" not in raw.decode()


async def test_the_vendor_is_handed_what_policy_saw() -> None:
    """Prepared once: the document of policy, the digest of the line and the invocation hold the same."""
    adapter = FakeAdapter()
    adapter.prepare = lambda value: {**value, "path": "/safe/a.txt"}
    async with road(adapter=adapter) as one:
        await one.call("note", NOTE, key="k")
        assert isinstance(one.engine, FakeEngine)
        (document,) = one.engine.documents
        assert json.loads(document)["arguments"] == dict(adapter.invocations[0].arguments)
        assert adapter.invocations[0].arguments["path"] == "/safe/a.txt"


# Fail closed: whatever a part does.


@pytest.mark.parametrize("step", STEPS[1:-1])
@pytest.mark.parametrize(
    "error", [RuntimeError(TOKEN), Panic(TOKEN), asyncio.CancelledError()], ids=lambda e: type(e).__name__
)
async def test_a_part_that_fails_as_it_must_not_stops_the_call(step: str, error: BaseException) -> None:
    """An answer, one line, nothing sent, no word of the exception; nobody is left waiting."""
    async with road() as one:
        one.hook(step, raising(error))
        answer = await asyncio.wait_for(one.call(SEALED, NOTE, key="k"), 5)
        assert isinstance(answer.outcome, Failure)
        assert one.effects == 0
        (line,) = one.lines
        assert TOKEN not in str(line) + str(answer)
        again = await one.call(SEALED, NOTE, key="k")
        assert isinstance(again.outcome, Result)
        assert one.effects == 1


class BrokenError(Exception):
    """What no part should raise."""


@pytest.mark.parametrize(
    "error", [BrokenError(TOKEN), Panic(TOKEN), asyncio.CancelledError()], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("stage", ["enter", "shape"])
async def test_g15_what_fails_after_the_vendor_answered_is_one_effect_and_one_line(
    monkeypatch: pytest.MonkeyPatch, stage: str, error: BaseException
) -> None:
    """The effect is in the line, the key is not free, and the same key never sends again."""
    async with road() as one:
        with monkeypatch.context() as patch:
            patch.setattr("gateway.pipeline.shape", lambda *_: raising(error)())
            if stage == "enter":
                patch.setattr(Trail, "enter", _failing_at_result(error))
            answer = await asyncio.wait_for(one.call("note", NOTE, key="k"), 5)
        assert isinstance(answer.outcome, Failure)
        assert "Do not do it again" in answer.outcome.message
        again = await one.call("note", NOTE, key="k")
        assert reason_of(again) in {Reason.KEY_DONE, Reason.OUTCOME_UNKNOWN}
        assert one.effects == 1
        first, second = one.lines
        assert first["happened"] == "yes"
        assert second["replay"]
        assert TOKEN not in str(one.lines) + str(answer)


def _failing_at_result(error: BaseException) -> Callable[..., None]:
    enter = Trail.enter

    def failing(self: Trail, step: str) -> None:
        if step == "result":
            raise error
        enter(self, step)  # type: ignore[arg-type]

    return failing


@pytest.mark.parametrize("error", [BrokenError(TOKEN), Panic(TOKEN)], ids=lambda e: type(e).__name__)
async def test_whatever_fails_once_the_vendor_may_have_been_asked_is_unknown(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """Not the adapter but the gateway's own code breaks: the line says unknown and the key stays taken."""

    async def broken(*_: object, **__: object) -> None:
        raise error

    async with road() as one:
        with monkeypatch.context() as patch:
            patch.setattr("gateway.pipeline.invoke", broken)
            assert reason_of(await one.call("note", NOTE, key="k")) is Reason.OUTCOME_UNKNOWN
        assert reason_of(await one.call("note", NOTE, key="k")) is Reason.OUTCOME_UNKNOWN
        assert [line["outcome"] for line in one.lines] == ["unknown", "unknown"]
        assert one.lines[0]["happened"] == "unknown"
        assert one.effects == 0


async def test_a_sink_that_fails_after_an_effect_gives_unknown_and_the_key_never_sends_again() -> None:
    """What cannot be written down must not be told, nor done twice."""
    sink = ListSink()
    async with road(sink=sink) as one:
        one.hook("audit", lambda: setattr(sink, "is_down", True))
        answer = await one.call("note", NOTE, key="k")
        assert reason_of(answer) is Reason.OUTCOME_UNKNOWN
        sink.is_down = False
        again = await one.call("note", NOTE, key="k")
        assert again.is_replay
        assert one.effects == 1
        assert [line.happened for line in sink.lines] == ["yes", ""]


async def test_a_full_disk_refuses_writes_and_lets_nothing_out() -> None:
    """From the first byte that does not fit: no call begins; once there is room, calls go on."""
    async with road() as one:
        await one.call("note", NOTE, key="k1")
        one.disk.room = 0
        for _ in range(2):
            with pytest.raises(Refusal) as caught:
                await one.call("note", NOTE, key="k2")
            assert caught.value.reason in {Reason.JOURNAL_UNAVAILABLE, Reason.AUDIT_UNAVAILABLE}
        one.disk.room = None
        one.clock.advance(60)
        answer = await one.call("note", NOTE, key="k2")
        assert isinstance(answer.outcome, Result)
        assert one.effects == 2


async def test_a_failed_sync_of_the_intent_sends_nothing_and_leaves_the_key_free() -> None:
    """Nothing was sent, so the same key may be used once the disk is back."""
    async with road() as one:
        one.hook("claim", lambda: setattr(one.disk, "sync_error", OSError(errno.EIO, "io")))
        one.hook("audit", lambda: setattr(one.disk, "sync_error", None))
        assert reason_of(await one.call("note", NOTE, key="k")) is Reason.JOURNAL_UNAVAILABLE
        assert one.effects == 0
        one.clock.advance(60)
        assert isinstance((await one.call("note", NOTE, key="k")).outcome, Result)
        assert [line["outcome"] for line in one.lines] == ["unavailable", "ok"]


async def test_a_credential_is_in_no_answer_no_line_and_no_longer_in_memory() -> None:
    """The vendor says it in every way; what leaves does not hold it, and the Secret is dropped."""
    adapter = FakeAdapter()
    adapter.output = Output(
        structured={TOKEN: [TOKEN], "deep": {"x": f"Bearer {TOKEN}"}}, content=(Text(text=TOKEN),), receipt=TOKEN
    )
    async with road(adapter=adapter) as one:
        answer = await one.call(SEALED, json.dumps({"path": TOKEN}), key="k")
        assert isinstance(answer.outcome, Result)
        shown = answer.outcome.structured_json + repr(answer.outcome.content).encode() + answer.outcome.receipt.encode()
        assert TOKEN.encode() not in shown
        assert TOKEN not in json.dumps(one.lines)
        credential = adapter.invocations[0].credential
        assert credential is not None
        assert credential.reveal() == ""


@pytest.mark.parametrize("tool", ["note", SEALED])
async def test_what_an_adapter_made_of_a_credential_is_in_no_answer_either(tool: str) -> None:
    """An access token is as secret as what it was got for, with a credential lent or none; and it is dropped."""
    adapter = FakeAdapter()
    adapter.mints = ["acc-5512-token"]
    adapter.output = Output(structured={"x": "Bearer acc-5512-token"}, receipt="acc-5512-token")
    async with road(adapter=adapter) as one:
        answer = await one.call(tool, NOTE, key="k")
        assert isinstance(answer.outcome, Result)
        assert "acc-5512-token" not in answer.outcome.structured_json.decode() + answer.outcome.receipt
        adapter.failures.append(AdapterError(ErrorKind.INVALID, "bad acc-5512-token", happened=Happened.NO))
        failed = await one.call(tool, NOTE, key="k2")
        assert isinstance(failed.outcome, Failure)
        assert "acc-5512-token" not in failed.outcome.message + json.dumps(one.lines)
        assert [secret.reveal() for secret in adapter.minted] == [""]


async def test_a_credential_in_an_adapters_message_is_taken_out() -> None:
    """An adapter that quotes its credential does not leak it."""
    adapter = FakeAdapter()
    adapter.failures.append(AdapterError(ErrorKind.INVALID, f"bad token {TOKEN}", happened=Happened.NO))
    async with road(adapter=adapter) as one:
        answer = await one.call(SEALED, NOTE, key="k")
        assert isinstance(answer.outcome, Failure)
        assert TOKEN not in answer.outcome.message


# Exactly one line, whoever leaves whenever.


class Gate:
    """Makes a part wait: `reached` is set when it is asked, and it goes on when `open` is."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()

    async def wait(self) -> None:
        """Be waited for."""
        self.reached.set()
        await self.open.wait()


class GatedEngine(FakeEngine):
    """An engine that waits."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self.gate = gate

    async def decide(self, input_json: bytes) -> Decision:
        """Allow, later."""
        await self.gate.wait()
        return await super().decide(input_json)


class GatedKeys(DictKeys):
    """Keys that wait at one of their methods."""

    def gated(self, method: str, gate: Gate) -> "GatedKeys":
        """Wait there."""
        self.method, self.gate = method, gate
        return self

    async def look(self, key: str) -> Known | None:
        """Look, perhaps later."""
        if self.method == "look":
            await self.gate.wait()
        return await super().look(key)

    async def claim(self, claim: Claim, intent: bytes) -> Known | None:
        """Claim, perhaps later."""
        if self.method == "claim":
            await self.gate.wait()
        return await super().claim(claim, intent)

    async def settle(self, claim: Claim, result: Result | None) -> Whose:
        """Settle, perhaps later."""
        if self.method == "settle":
            await self.gate.wait()
        return await super().settle(claim, result)


class GatedSink(ListSink):
    """A sink that waits once it has the line, as a group commit does."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self.gate = gate

    async def append(self, line: Line) -> None:
        """Keep the line, and answer later."""
        await super().append(line)
        await self.gate.wait()


def _gated_at(where: str, gate: Gate) -> Road:
    if where == "policy":
        return Road(engine=GatedEngine(gate))
    if where in {"look", "claim", "settle"}:
        return Road(keys=DictTenants(make=lambda **named: GatedKeys(**named).gated(where, gate)))
    one = Road()
    if where == "limits":
        one.limiter_gate = gate.wait
    elif where == "credentials":
        one.source_gate = gate.wait
    return one


@pytest.mark.parametrize("where", ["look", "policy", "limits", "claim", "credentials"])
async def test_a_caller_that_leaves_before_the_send_cancels_the_call(where: str) -> None:
    """Wherever it waits: nothing is sent, one line `cancelled`, and the key is free."""
    gate = Gate()
    async with road(_gated_at(where, gate)) as one:
        task = asyncio.create_task(one.call(SEALED, NOTE, key="k"))
        await gate.reached.wait()
        task.cancel()
        assert isinstance(await ended(task), asyncio.CancelledError)
        (line,) = one.lines
        assert (line["outcome"], line["reason"]) == ("cancelled", Reason.CANCELLED.value)
        gate.open.set()
        assert isinstance((await one.call(SEALED, NOTE, key="k")).outcome, Result)
        assert one.effects == 1


async def test_a_caller_that_leaves_while_the_store_is_told_changes_nothing() -> None:
    """What happened is known by then: the line says so, and so does the key."""
    gate = Gate()
    async with road(_gated_at("settle", gate)) as one:
        task = asyncio.create_task(one.call("note", NOTE, key="k"))
        await gate.reached.wait()
        task.cancel()
        await asyncio.sleep(0)
        gate.open.set()
        await ended(task)
        (line,) = one.lines
        assert (line["outcome"], line["happened"]) == ("ok", "yes")
        assert (await one.call("note", NOTE, key="k")).is_replay


async def test_a_caller_that_leaves_while_the_intent_is_synced_cancels_the_call() -> None:
    """The intent may reach the disk and counts for nothing: the key is free."""
    async with road() as one:
        await one.call()  # the journal's and the audit's threads are there
        import threading

        one.disk.held = threading.Event()
        task = asyncio.create_task(one.call("note", NOTE, key="k"))
        await until(one.disk.is_syncing.is_set)
        task.cancel()
        await asyncio.sleep(0)
        one.disk.held.set()
        assert isinstance(await ended(task), asyncio.CancelledError)
        assert [line["outcome"] for line in one.lines] == ["ok", "cancelled"]
        assert isinstance((await one.call("note", NOTE, key="k")).outcome, Result)
        assert one.effects == 2


async def test_a_read_is_cancelled_with_its_caller() -> None:
    """Nobody waits, so nobody works; one line `cancelled`."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    async with road(adapter=adapter) as one:
        task = asyncio.create_task(one.call())
        await adapter.started.wait()
        task.cancel()
        assert isinstance(await ended(task), asyncio.CancelledError)
        (line,) = one.lines
        assert line["outcome"] == "cancelled"
        assert line["stopped_at"] == "adapter"


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_a_caller_that_leaves_during_a_write_lets_it_run(times: int) -> None:
    """The line says ok, and the key replays, however often the caller was cancelled."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    async with road(adapter=adapter) as one:
        task = asyncio.create_task(one.call("note", NOTE, key="k"))
        await adapter.started.wait()
        for _ in range(times):
            task.cancel()
        await asyncio.sleep(0)
        adapter.gate.set()
        await ended(task)
        (line,) = one.lines
        assert (line["outcome"], line["happened"]) == ("ok", "yes")
        assert (await one.call("note", NOTE, key="k")).is_replay
        assert one.effects == 1


async def test_a_caller_that_leaves_while_a_write_fails_is_told_of_as_unknown() -> None:
    """The adapter breaks after the caller left: the line says unknown and not cancelled, the key stays taken."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    adapter.failures.append(asyncio.CancelledError())
    async with road(adapter=adapter) as one:
        task = asyncio.create_task(one.call("note", NOTE, key="k"))
        await adapter.started.wait()
        task.cancel()
        task.cancel()
        await asyncio.sleep(0)
        adapter.gate.set()
        await ended(task)
        (line,) = one.lines
        assert (line["outcome"], line["happened"]) == ("unknown", "unknown")
        assert reason_of(await one.call("note", NOTE, key="k")) is Reason.OUTCOME_UNKNOWN
        assert one.effects == 1


async def test_a_caller_that_leaves_while_its_line_is_written_leaves_one_line() -> None:
    """Cancelled between the line's write and its sync: not a second line, not none."""
    gate = Gate()
    sink = GatedSink(gate)
    async with road(sink=sink) as one:
        task = asyncio.create_task(one.call())
        await gate.reached.wait()
        task.cancel()
        assert isinstance(await ended(task), asyncio.CancelledError)
        assert [line.outcome for line in sink.lines] == ["ok"]


async def test_a_caller_that_leaves_while_the_disk_syncs_its_line_leaves_one_line() -> None:
    """The same with the real sink: the line that was handed over is written though nobody waits."""
    import threading

    async with road() as one:
        await one.call()
        one.disk.held = threading.Event()
        one.disk.is_syncing.clear()
        task = asyncio.create_task(one.call())
        await until(one.disk.is_syncing.is_set)
        task.cancel()
        assert isinstance(await ended(task), asyncio.CancelledError)
        one.disk.held.set()
        await until(lambda: len(one.lines) == 2)
        await one.restart()
        assert [line["outcome"] for line in one.lines] == ["ok", "ok"]


async def test_a_caller_cancelled_again_while_its_cancelled_line_is_written_leaves_one_line() -> None:
    """A second cancellation arrives while the line of the first is synced."""
    gate, own = Gate(), Gate()
    sink = GatedSink(own)
    async with road(Road(engine=GatedEngine(gate), sink=sink)) as one:
        task = asyncio.create_task(one.call())
        await gate.reached.wait()
        task.cancel()
        await own.reached.wait()
        task.cancel()
        assert isinstance(await ended(task), asyncio.CancelledError)
        assert [line.outcome for line in sink.lines] == ["cancelled"]


async def test_a_line_whose_arguments_cannot_be_shown_is_written_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A redaction that fails shows nothing, and the line is there all the same."""
    async with road() as one:
        monkeypatch.setattr("gateway.plans.redact", lambda *_: raising(RuntimeError("x"))())
        await one.call("note", NOTE, key="k")
        (line,) = one.lines
        assert line["outcome"] == "ok"
        assert "hi" not in line.get("arguments", "")


# Keys.


async def test_fifty_calls_at_once_with_one_key_are_one_effect() -> None:
    """One does it; the others are told that it is being done, or get its result."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    async with road(adapter=adapter) as one:
        tasks = [asyncio.create_task(one.call("note", NOTE, key="k")) for _ in range(50)]
        await adapter.started.wait()
        await until(lambda: sum(task.done() for task in tasks) == 49)
        adapter.gate.set()
        answers = await asyncio.gather(*tasks)
        done = [answer for answer in answers if isinstance(answer.outcome, Result)]
        refused = [answer for answer in answers if isinstance(answer.outcome, Failure)]
        assert (len(done), len(refused), one.effects) == (1, 49, 1)
        for answer in refused:
            assert isinstance(answer.outcome, Failure)
            assert answer.outcome.reason is Reason.KEY_IN_PROGRESS
            assert answer.outcome.retry_after_ms > 0
        assert len({line["call_id"] for line in one.lines}) == len(one.lines) == 50
        replay = await one.call("note", NOTE, key="k")
        assert (replay.is_replay, replay.effect_id) == (True, done[0].call_id)
        assert replay.outcome == done[0].outcome


async def test_a_key_is_its_agents_own() -> None:
    """Another agent, or the same name in another tenant, does not find it (here: they see no tool, and no replay)."""
    async with road() as one:
        await one.call("note", NOTE, key="k")
        other = await one.call("note", NOTE, caller=principal(agent="stranger"), key="k")
        assert reason_of(other) is Reason.TOOL_NOT_FOUND
        assert not other.is_replay


async def test_a_replay_asks_neither_limits_nor_the_vendor() -> None:
    """Nothing is done, so nothing is charged; the line is marked, and its key's digest is no key."""
    async with road() as one:
        await one.call("note", NOTE, key="the-raw-key")
        one.seen.clear()
        await one.call("note", NOTE, key="the-raw-key")
        assert one.seen == [*STEPS[:5], "audit"]
        assert one.lines[1]["replay"]
        assert "the-raw-key" not in json.dumps(one.lines)


async def test_policy_knows_that_a_call_is_a_replay_and_may_withhold_it() -> None:
    """A denial today withholds what was allowed yesterday; the key stays done."""
    async with road() as one:
        await one.call("note", NOTE, key="k")
        assert isinstance(one.engine, FakeEngine)
        one.engine.answer = '{"effect":"deny","reasons":[],"obligations":[]}'
        denied = await one.call("note", NOTE, key="k")
        assert reason_of(denied) is Reason.POLICY_DENIED
        assert [json.loads(document)["call"]["replay"] for document in one.engine.documents] == [False, True]
        one.engine.answer = ALLOW
        assert (await one.call("note", NOTE, key="k")).is_replay
        assert one.effects == 1


async def test_an_approval_is_not_asked_again_on_a_replay() -> None:
    """What was done is told again, though policy would now ask a person."""
    async with road() as one:
        await one.call("note", NOTE, key="k")
        assert isinstance(one.engine, FakeEngine)
        one.engine.answer = '{"effect":"require_approval","reasons":[],"obligations":[]}'
        assert (await one.call("note", NOTE, key="k")).is_replay


# Absence cannot be probed.


async def test_a_hidden_and_an_unknown_tool_are_the_same_answer_and_the_same_work() -> None:
    """The same outcome field by field, and the same parts asked, whatever else is sent."""
    async with road() as one:
        answers, work = [], []
        for tool in (HIDDEN, "echo_unknown", ""):
            for arguments in ('{"text":"hi"}', "no json"):
                one.seen.clear()
                answers.append(replace(await one.call(tool, arguments, key="k"), call_id="", effect_id=""))
                work.append(tuple(one.seen))
        assert len(set(map(str, answers))) == 1
        assert set(work) == {("begin", "registry", "audit")}


# Explaining.


async def test_explain_does_nothing_and_says_what_a_call_would_get() -> None:
    """The decision and no failure; no limit is taken, no key claimed, no vendor asked; a line of its own kind."""
    async with road() as one:
        explanation = await one.explain("note", NOTE, key="k")
        assert explanation.failure is None
        assert explanation.decision is not None
        assert explanation.decision.effect is DecisionEffect.ALLOW
        assert one.seen == [*STEPS[:5], "audit"]
        (line,) = one.lines
        assert (line["kind"], line["outcome"], line["call_id"]) == ("explain", "ok", explanation.call_id)
        assert not (await one.call("note", NOTE, key="k")).is_replay


async def test_explain_says_why_a_call_would_be_stopped() -> None:
    """The refusal as a call would get it, and the line's outcome the same."""
    async with road(engine=FakeEngine(None)) as one:
        explanation = await one.explain("note", NOTE, key="k")
        assert explanation.failure is not None
        assert explanation.failure.reason is Reason.POLICY_UNDEFINED
        assert one.lines[0]["outcome"] == "permission_denied"


async def test_explain_knows_of_a_key_what_a_call_would_be_told() -> None:
    """Done: a call would get its first result, so nothing is refused. Unknown or used otherwise: the refusal."""
    adapter = FakeAdapter()
    async with road(adapter=adapter) as one:
        await one.call("note", NOTE, key="done")
        adapter.failures.append(RuntimeError())
        await one.call("note", NOTE, key="unknown")
        assert (await one.explain("note", NOTE, key="done")).failure is None
        unknown = (await one.explain("note", NOTE, key="unknown")).failure
        reused = (await one.explain("note", '{"path":"b"}', key="done")).failure
        assert unknown is not None
        assert reused is not None
        assert (unknown.reason, reused.reason) == (Reason.OUTCOME_UNKNOWN, Reason.KEY_REUSED)
        assert [line["kind"] for line in one.lines] == ["call", "call", "explain", "explain", "explain"]
        assert one.effects == 2


# Deadlines.


async def test_a_read_waits_no_longer_than_its_caller() -> None:
    """The caller's deadline becomes the adapter's."""
    async with road() as one:
        await one.call(timeout_seconds=1.5)
        assert one.adapter.invocations[0].deadline == pytest.approx(one.clock.monotonic() + 1.5)


async def test_a_write_keeps_its_own_deadline() -> None:
    """However little time the caller has: the write runs to the end that its tool gives it."""
    async with road(max_call_seconds=7.0) as one:
        await one.call("note", NOTE, key="k", timeout_seconds=0.01)
        assert one.adapter.invocations[0].deadline == pytest.approx(one.clock.monotonic() + 7.0)


async def test_a_call_is_announced_when_it_begins_and_not_after_its_end() -> None:
    """The edge learns the id at begin, and that it ended before the answer comes."""
    async with road() as one:
        answer = await one.call()
        assert one.announced.call_id == answer.call_id
        assert one.announced.has_ended
