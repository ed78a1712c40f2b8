"""The path of a call that people have approved: it covers exactly what runs, once, on today's policy and rows."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from fakes.engine import ALLOW, FakeEngine
from fakes.parking import boss
from fakes.path import TOKEN, PreviewAdapter, Road, ended, road
from fakes.principals import principal

from adapters.base import AdapterError, ErrorKind, Happened
from gateway.approvals.base import Approved
from gateway.call import Answer, Failure, Pending, Result
from gateway.errors import Reason, Refusal

NOTE = '{"path":"a.txt","body":"hi"}'
SEALED = "note_sealed"
ECHO = '{"text":"hi"}'
DENY = '{"effect":"deny","reasons":[{"code":"no"}],"obligations":[]}'


def asking(*, count: int = 1, roles: tuple[str, ...] = ("boss",), seconds: int = 3600) -> str:
    """A decision that asks for so many people."""
    terms = {"roles": list(roles), "count": count, "expires_in_seconds": seconds}
    obligations = [{"type": "approval", "value": terms}]
    return json.dumps({"effect": "require_approval", "reasons": [{"code": "big"}], "obligations": obligations})


def asked() -> FakeEngine:
    """An engine that asks for one boss."""
    return FakeEngine(asking())


async def parked(one: Road, tool: str = SEALED, arguments: str = NOTE, **changes: Any) -> Approved:
    """A call that was parked, and approved."""
    key = {} if tool == "echo" else {"key": "k"}
    assert isinstance((await one.call(tool, arguments, **key)).outcome, Pending)
    one.seen.clear()
    return one.approvals.approve(**changes)


def reason_of(answer: Answer) -> Reason:
    """Why it was stopped."""
    assert isinstance(answer.outcome, Failure)
    return answer.outcome.reason


# A parked call owns its key.


async def test_a_key_that_waits_gives_the_same_pending_call_and_asks_nobody() -> None:
    """The same approval, no second one; policy is asked, since it may withhold it."""
    async with road(engine=asked()) as one:
        first = await one.call(SEALED, NOTE, key="k")
        again = await one.call(SEALED, NOTE, key="k")
        assert again.outcome == first.outcome
        assert (again.is_replay, again.effect_id) == (True, first.call_id)
        assert len(one.approvals.parked) == 1
        assert [line["approval_id"] for line in one.lines] == ["apr_1", "apr_1"]


async def test_a_key_that_waits_is_a_conflict_with_other_arguments() -> None:
    """One key is one action, also before it happened."""
    async with road(engine=asked()) as one:
        await one.call(SEALED, NOTE, key="k")
        assert reason_of(await one.call(SEALED, '{"path":"b"}', key="k")) is Reason.KEY_REUSED
        assert len(one.approvals.parked) == 1


async def test_a_key_that_waits_does_not_run_though_policy_allows_by_now() -> None:
    """The pending call is what the key is; only its execution carries it out."""
    async with road(engine=asked()) as one:
        await one.call(SEALED, NOTE, key="k")
        one.engine.answer = ALLOW
        assert isinstance((await one.call(SEALED, NOTE, key="k")).outcome, Pending)
        assert one.effects == 0


async def test_what_is_parked_is_all_that_has_to_be_approved() -> None:
    """The caller, the prepared arguments, the tool, the decision and an intent without what is private."""
    async with road(engine=asked()) as one:
        await one.call("note", NOTE, key="k")
        (kept,) = one.approvals.parked
        assert (kept.principal, kept.tool.name, kept.arguments.value) == (one.caller, "note", json.loads(NOTE))
        assert (kept.call_id, kept.effect_id, kept.instead_of, kept.preview_json) == ("call-1", "call-1", "", b"")
        assert json.loads(kept.intent)["call_id"] == "call-1"
        assert b"hi" not in kept.intent


# Carrying out.


async def test_an_approved_call_is_carried_out_under_its_own_id() -> None:
    """One line of its own kind, by the caller of then, with the approval; the key replays to that caller."""
    async with road(engine=asked()) as one:
        answer = await one.execute(await parked(one))
        assert isinstance(answer.outcome, Result)
        assert one.seen == ["begin", "registry", "arguments", "policy", "limits", "claim", "credentials", "audit"]
        line = one.lines[-1]
        assert [line[name] for name in ("kind", "call_id", "effect_id", "approval_id", "principal", "happened")] == [
            "execution",
            "call-1",
            "call-1",
            "apr_1",
            "helper-1",
            "yes",
        ]
        assert one.adapter.invocations[0].effect_id == "call-1"
        again = await one.call(SEALED, NOTE, key="k")
        assert (again.is_replay, again.outcome) == (True, answer.outcome)
        assert one.effects == 1


async def test_policy_sees_who_approved() -> None:
    """Nothing at the call, and the approval at its execution."""
    async with road(engine=asked()) as one:
        await one.execute(await parked(one, decisions=(boss("ann"), boss("bob"))))
        first, second = (json.loads(document) for document in one.engine.documents)
        assert first["approval"] is None
        assert [person["id"] for person in second["approval"]["approvers"]] == ["ann", "bob"]
        assert second["approval"]["id"] == "apr_1"


async def test_an_approval_is_used_once() -> None:
    """The second attempt sends nothing; its line says why."""
    async with road(engine=asked()) as one:
        approved = await parked(one)
        await one.execute(approved)
        assert reason_of(await one.execute(approved)) is Reason.APPROVAL_MISMATCH
        assert one.effects == 1


async def test_of_two_gateways_that_run_one_call_one_sends() -> None:
    """The claim is what decides, also between two who began at once."""
    async with road(engine=asked()) as one:
        approved = await parked(one)
        gate = asyncio.Event()
        one.limiter_gate = gate.wait
        both = [asyncio.create_task(one.execute(approved)) for _ in range(2)]
        await asyncio.sleep(0)
        gate.set()
        answers = await asyncio.gather(*both)
        assert sorted(type(answer.outcome).__name__ for answer in answers) == ["Failure", "Result"]
        assert one.effects == 1


async def test_an_approved_read_uses_its_approval_once() -> None:
    """It has no key; its approval is used before anything is asked of anybody."""
    async with road(engine=asked()) as one:
        approved = await parked(one, "echo", ECHO)
        assert isinstance((await one.execute(approved)).outcome, Result)
        assert [use.approval_id for use in one.approvals.used] == ["apr_1"]
        assert reason_of(await one.execute(approved)) is Reason.APPROVAL_MISMATCH
        assert one.effects == 1


async def test_a_read_whose_approval_cannot_be_used_asks_no_vendor() -> None:
    """Approvals do not answer: nothing is read."""
    async with road(engine=asked()) as one:
        approved = await parked(one, "echo", ECHO)
        one.approvals.is_down = True
        assert reason_of(await one.execute(approved)) is Reason.APPROVALS_UNAVAILABLE
        assert one.lines[-1]["stopped_at"] == "claim"
        assert one.effects == 0


# What was approved is what runs.


def _prepares_otherwise(one: Road) -> None:
    one._prepare = lambda value: {**value, "path": "/elsewhere"}


def _has_a_new_version(one: Road) -> None:
    one.rows.tools[SEALED] = {"version": "2"}
    one.load()


def _is_over_another_connection(one: Road) -> None:
    one.rows.tools[SEALED] = {"binding": {"adapter": "fake", "operation": "write", "connection": "plain"}}
    one.load()


@pytest.mark.parametrize("change", [_prepares_otherwise, _has_a_new_version, _is_over_another_connection])
async def test_what_is_not_what_was_approved_does_not_run(change: Any) -> None:
    """Arguments that would be read differently now, a new version, another account: the claim refuses it."""
    async with road(engine=asked()) as one:
        approved = await parked(one)
        change(one)
        assert reason_of(await one.execute(approved)) is Reason.APPROVAL_MISMATCH
        assert one.seen[-2:] == ["claim", "audit"]
        assert (one.effects, one.lines[-1]["stopped_at"]) == (0, "claim")


async def test_policy_decides_again_when_it_is_to_run() -> None:
    """A denial of today counts for more than an approval of yesterday."""
    async with road(engine=asked()) as one:
        approved = await parked(one)
        one.engine.answer = DENY
        assert reason_of(await one.execute(approved)) is Reason.POLICY_DENIED
        assert one.seen == ["begin", "registry", "arguments", "policy", "audit"]
        assert one.effects == 0


async def test_a_caller_who_lost_a_scope_meanwhile_is_judged_as_it_was() -> None:
    """The principal of then runs it, and today's rows say what that one may."""
    async with road(engine=asked()) as one:
        approved = await parked(one)
        one.rows.agent = {"scopes": ["test:read"]}
        one.load()
        assert reason_of(await one.execute(approved)) is Reason.SCOPE_MISSING
        assert one.effects == 0


async def test_a_stopped_tool_does_not_run_though_it_was_approved() -> None:
    """At step 4, and nothing of the approval is used."""
    async with road(engine=asked()) as one:
        approved = await parked(one)
        one.halts.tools.add(SEALED)
        assert reason_of(await one.execute(approved)) is Reason.STOPPED
        one.halts.tools.clear()
        assert isinstance((await one.execute(approved)).outcome, Result)


@pytest.mark.parametrize(
    "stricter", [asking(count=2), asking(roles=("auditor",)), asking(seconds=30)], ids=["count", "roles", "time"]
)
async def test_under_stricter_terms_it_waits_again(stricter: str) -> None:
    """Under the same id and key, in the place of the first approval, which cannot be used any more."""
    async with road(engine=asked()) as one:
        approved = await parked(one)
        one.engine.answer = stricter
        answer = await one.execute(approved)
        assert isinstance(answer.outcome, Pending)
        assert answer.outcome.approval_id == "apr_2"
        second = one.approvals.parked[1]
        assert (second.call_id, second.key, second.instead_of) == ("call-1", approved.key, "apr_1")
        assert second.decided_by == approved.decisions
        line = one.lines[-1]
        assert (line["kind"], line["approval_id"], line["outcome"]) == ("execution", "apr_2", "pending")
        one.engine.answer = asking()
        assert reason_of(await one.execute(approved)) is Reason.APPROVAL_MISMATCH
        assert one.effects == 0


async def test_an_approval_that_meets_the_terms_of_today_runs() -> None:
    """Two of them are enough for two; policy that allows it by itself is enough for anyone."""
    for answer in (asking(count=2), ALLOW):
        async with road(engine=asked()) as one:
            approved = await parked(one, decisions=(boss("ann"), boss("bob")))
            one.engine.answer = answer
            assert isinstance((await one.execute(approved)).outcome, Result)


@pytest.mark.parametrize("answer", [asking(), ALLOW], ids=["asks", "allows"])
async def test_what_a_person_edited_always_waits_again(answer: str) -> None:
    """Though policy allows it: other arguments were seen by nobody yet. Policy does not take it for approved."""
    async with road(engine=asked()) as one:
        approved = await parked(one)
        request = replace(approved.request, arguments_json=b'{"path":"b.txt"}')
        one.engine.answer = answer
        outcome = (await one.execute(replace(approved, request=request, edited=True))).outcome
        assert isinstance(outcome, Pending)
        second = one.approvals.parked[1]
        assert (second.instead_of, second.arguments.value) == ("apr_1", {"path": "b.txt"})
        assert json.loads(one.engine.documents[-1])["approval"] is None
        assert one.effects == 0


async def test_what_a_person_edited_is_refused_where_policy_denies_it() -> None:
    """Nothing is parked, and the first approval stands."""
    async with road(engine=asked()) as one:
        approved = await parked(one)
        one.engine.answer = DENY
        assert reason_of(await one.execute(replace(approved, edited=True))) is Reason.POLICY_DENIED
        assert len(one.approvals.parked) == 1


async def test_an_execution_that_cannot_begin_is_no_call() -> None:
    """The refusal is raised, there is no line, and the approval is there for the next attempt."""
    async with road(engine=asked()) as one:
        approved = await parked(one)
        one.hook("begin", _refuses)
        with pytest.raises(Refusal):
            await one.execute(approved)
        assert len(one.lines) == 1
        assert isinstance((await one.execute(approved)).outcome, Result)


def _refuses() -> None:
    raise Refusal(Reason.JOURNAL_UNAVAILABLE, "No.")


async def test_an_execution_of_which_nobody_knows_is_never_sent_again() -> None:
    """Its line says unknown, and its key stays taken."""
    async with road(engine=asked()) as one:
        approved = await parked(one)
        one.adapter.failures.append(RuntimeError())
        assert reason_of(await one.execute(approved)) is Reason.OUTCOME_UNKNOWN
        assert reason_of(await one.execute(approved)) is Reason.APPROVAL_MISMATCH
        assert reason_of(await one.call(SEALED, NOTE, key="k")) is Reason.OUTCOME_UNKNOWN
        assert one.effects == 1


# What would change, for whoever approves.


def previewing(adapter: PreviewAdapter) -> Road:
    """A road on which the tool shows what it would change."""
    one = Road(engine=asked(), adapter=adapter)
    one.rows.tools[SEALED] = {"preview": True}
    return one


async def test_what_would_change_is_asked_before_a_person_is() -> None:
    """With the connection's credential, which is forgotten again; nothing is sent."""
    adapter = PreviewAdapter()
    async with road(previewing(adapter)) as one:
        assert isinstance((await one.call(SEALED, NOTE, key="k")).outcome, Pending)
        assert one.seen == [
            "begin",
            "registry",
            "arguments",
            "idempotency",
            "policy",
            "limits",
            "credentials",
            "approvals",
            "audit",
        ]
        assert one.approvals.parked[0].preview_json == b'{"was":"a","will_be":"b"}'
        (shown,) = adapter.previews
        assert shown.credential is not None
        assert shown.credential.reveal() == ""
        assert one.effects == 0
        (line,) = one.lines
        assert (line["stopped_at"], line["credential"], line["outcome"]) == ("approvals", "env:FAKE_TOKEN", "pending")


async def test_a_call_that_needs_nobody_shows_nobody_anything() -> None:
    """No preview where policy allows; none of a tool that was not asked for one."""
    adapter = PreviewAdapter()
    async with road(previewing(adapter)) as one:
        one.engine.answer = ALLOW
        await one.call(SEALED, NOTE, key="k1")
        one.engine.answer = asking()
        await one.call("note", NOTE, key="k2")
        assert adapter.previews == []


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        (AdapterError(ErrorKind.UNAVAILABLE, f"away {TOKEN}", happened=Happened.NO), Reason.VENDOR_UNAVAILABLE),
        (RuntimeError(TOKEN), Reason.APPROVALS_UNAVAILABLE),
        (object(), Reason.APPROVALS_UNAVAILABLE),
    ],
    ids=["vendor away", "adapter broken", "no JSON"],
)
async def test_what_cannot_be_shown_parks_nobody(shown: Any, reason: Reason) -> None:
    """The call is refused, nobody is asked, the key is free, and no word of a credential leaves."""
    adapter = PreviewAdapter(shown)
    async with road(previewing(adapter)) as one:
        answer = await one.call(SEALED, NOTE, key="k")
        assert reason_of(answer) is reason
        assert (one.approvals.parked, one.effects) == ([], 0)
        assert TOKEN not in str(answer) + str(one.lines)
        assert one.lines[0]["stopped_at"] == "approvals"
        adapter.shown = {}
        assert isinstance((await one.call(SEALED, NOTE, key="k")).outcome, Pending)


async def test_a_caller_who_leaves_while_that_is_shown_parks_nobody() -> None:
    """One line `cancelled`; the key is free."""
    adapter = PreviewAdapter()
    gate = asyncio.Event()
    async with road(previewing(adapter)) as one:
        one.source_gate = gate.wait
        task = asyncio.create_task(one.call(SEALED, NOTE, key="k"))
        while "credentials" not in one.seen:
            await asyncio.sleep(0)
        task.cancel()
        assert isinstance(await ended(task), asyncio.CancelledError)
        assert [line["outcome"] for line in one.lines] == ["cancelled"]
        assert one.approvals.parked == []


async def test_an_approved_call_of_another_tenant_is_that_tenants() -> None:
    """Its principal decides whose rows and keys it runs with; here it has none."""
    async with road(engine=asked()) as one:
        approved = await parked(one)
        stranger = replace(approved, principal=principal(tenant="other"))
        assert reason_of(await one.execute(stranger)) is Reason.TOOL_NOT_FOUND
        assert one.effects == 0
