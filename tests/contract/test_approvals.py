"""What approvals do over every store: SQLite, and a real PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.approval_races import approval_races, without_binding
from fakes.approvals import ALLOW, READ, SEND, Office, again, arguments, asking, parked, person, saying
from fakes.clock import FakeClock
from fakes.principals import principal
from fakes.rows import connection, tool
from real.stores import opened, postgres_settings, sqlite_settings

from adapters.base import Fault, Target
from gateway.approvals.base import ApprovalState, Terms
from gateway.call import CallerKind, Decision, DecisionEffect, Failure, Pending, PendingState, Standing
from gateway.errors import Reason, Refusal, Refused, RefusedKind
from gateway.idempotency.base import Claim
from gateway.outcomes import decode
from gateway.settings.approvals import ApprovalSettings
from gateway.store import calls
from gateway.store.columns import moment_of
from gateway.store.failures import StoreDown

DENY = Decision(effect=DecisionEffect.DENY, reasons=(), obligations=(), revision="r2")


@pytest.fixture(params=["sqlite", "postgresql"])
async def office(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Office]:
    """A gateway's approvals over each store in turn."""
    if request.param == "sqlite":
        settings = await sqlite_settings(tmp_path)
    else:
        settings = await postgres_settings(request.getfixturevalue("server"))
    async with opened(settings) as database:
        yield Office(database, FakeClock())


async def _state(office: Office, approval_id: str) -> ApprovalState:
    return (await office.desk.get(person(), approval_id)).state


async def _call(office: Office, call_id: str) -> calls.Kept:
    async with office.database.tenant("acme", is_read=True) as session:
        kept = await calls.find(session, call_id, moment_of(office.clock.now()))
    assert kept is not None
    return kept


async def _told(office: Office, call_id: str) -> object:
    """How the call ended, as whoever asks for it is told."""
    kept = await _call(office, call_id)
    assert kept.result is not None
    return decode(await office.seal.open("acme", calls.place_of(call_id), kept.result))


async def _refused(doing: object, kind: RefusedKind) -> str:
    with pytest.raises(Refused) as caught:
        await doing  # type: ignore[misc]
    assert caught.value.kind is kind
    return caught.value.message


# Parking.


async def test_a_parked_call_owns_its_key_and_waits_for_a_person(office: Office) -> None:
    """The key is parked under the call, and whoever repeats it is told that it waits, and why."""
    pending = await office.approvals.park(parked(office.clock, call_id="c1", key="k1"))
    assert pending.state is PendingState.APPROVAL
    assert [reason.code for reason in pending.policy_reasons] == ["high_risk"]
    known = await office.keys.of("acme").look("k1")
    assert known is not None
    assert (known.standing, known.call_id, known.approval_id) == (Standing.PARKED, "c1", pending.approval_id)
    assert known.arguments_digest == arguments().digest
    assert await office.approvals.state("acme", pending.approval_id) == pending


async def test_another_call_cannot_park_under_a_key_that_is_owned(office: Office) -> None:
    """It is told to ask again, and nobody is asked on its behalf."""
    await office.park(call_id="c1", key="k1")
    with pytest.raises(Refusal) as caught:
        await office.park(call_id="c2", key="k1")
    assert caught.value.reason is Reason.KEY_IN_PROGRESS
    assert caught.value.retry_after_ms > 0
    assert len((await office.desk.page(person(), (ApprovalState.OPEN,), size=10, after=""))[0]) == 1


async def test_of_many_calls_that_park_one_key_at_once_one_does(office: Office) -> None:
    """The others are refused, and one approval is open."""
    found = await asyncio.gather(*(office.park(key="k1") for _ in range(8)), return_exceptions=True)
    assert sum(isinstance(each, str) for each in found) == 1
    assert all(each.reason is Reason.KEY_IN_PROGRESS for each in found if isinstance(each, Refusal))


async def test_a_key_whose_time_is_over_can_be_parked(office: Office) -> None:
    """What was done under it is forgotten by then."""
    keys, claim = office.keys.of("acme"), Claim(key="k1", call_id="c0", effect_id="e0", arguments_digest="d")
    assert await keys.claim(claim, b"{}") is None
    await keys.settle(claim, None)
    office.clock.advance(25 * 3600)
    assert await office.park(key="k1")


async def test_a_call_that_has_a_row_already_is_parked_in_it(office: Office) -> None:
    """One that was given a handle while it ran waits under the same id."""
    await office.given(call_id="c0")
    async with office.database.tenant("acme") as session:
        row = calls.Opened(
            call_id="c1",
            effect_id="c1",
            key=None,
            agent="helper",
            principal=b"{}",
            tool="send",
            tool_version="1",
            connection="fake",
            run_id="",
            arguments_digest="",
            writer="w1",
            created_at=moment_of(office.clock.now()),
        )
        await calls.open_call(session, row)
    approval_id = await office.park(call_id="c1")
    kept = await _call(office, "c1")
    assert (kept.state, kept.approval_id) == (calls.PARKED, approval_id)


async def test_an_agent_has_at_most_so_many_open(office: Office) -> None:
    """Beyond that its calls are refused, those of another agent are not, and one that is over makes room."""
    few = Office(office.database, office.clock, settings=ApprovalSettings(most_open_per_agent=2))
    found = await asyncio.gather(*(few.park() for _ in range(6)), return_exceptions=True)
    assert sum(isinstance(each, str) for each in found) == 2
    assert all(each.reason is Reason.TOO_MANY_APPROVALS for each in found if isinstance(each, Refusal))
    await few.park(principal=principal(agent="other"))
    office.clock.advance(3600)
    await few.park()


async def test_terms_that_policy_does_not_name_are_the_settings_own(office: Office) -> None:
    """One person with one of their roles, for as long as they say."""
    nothing = replace(asking(), obligations=())
    mine = ApprovalSettings(default_roles=("boss",), default_expires_seconds=60)
    other = Office(office.database, office.clock, settings=mine)
    shown = await other.desk.get(person("ann", "boss"), await other.park(decision=nothing))
    assert shown.terms == Terms(roles=("boss",), count=1, expires_in_seconds=60)
    assert shown.expires_at == office.clock.now() + 60


async def test_what_is_private_is_sealed(office: Office) -> None:
    """Arguments, claims, the key that was given, the preview and policy's words are nowhere readable."""
    await office.park(
        call_id="c1",
        arguments=arguments("private-word"),
        principal=principal(claims={"team": "private-word"}),
        preview_json=b'{"was":"private-word"}',
    )
    async with office.database.tenant("acme", is_read=True) as session:
        from gateway.store.schema import approvals, idempotency
        from gateway.store.schema import calls as rows

        for table in (approvals, idempotency, rows):
            for row in await session.execute(table.select()):
                assert "private-word" not in repr(tuple(row))
                assert "High risk" not in repr(tuple(row))


async def test_while_the_seal_is_broken_nothing_is_parked(office: Office) -> None:
    """The call is refused and its key is free."""
    office.seal.is_broken = True
    with pytest.raises(Refusal) as caught:
        await office.park(key="k1")
    assert caught.value.reason is Reason.APPROVALS_UNAVAILABLE
    assert caught.value.fault is Fault.ERROR
    assert await office.keys.of("acme").look("k1") is None


async def test_a_call_of_which_nobody_knows_whether_it_was_parked_is_withdrawn(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its caller was told that nobody was asked, so nobody may approve it later."""
    do = office.database.tenant
    parking = parked(office.clock, key="k1")

    class Lost:
        """A transaction that is done, and whose answer does not come."""

        def __init__(self, tenant: str, *, is_read: bool = False) -> None:
            self.inner = do(tenant, is_read=is_read)

        async def __aenter__(self) -> object:
            return await self.inner.__aenter__()

        async def __aexit__(self, *error: object) -> None:
            await self.inner.__aexit__(*error)  # type: ignore[arg-type]
            raise StoreDown("the database closed the connection", Fault.RESET)

    monkeypatch.setattr(office.database, "tenant", Lost)
    with pytest.raises(Refusal) as caught:
        await office.approvals.park(parking)
    assert (caught.value.reason, caught.value.fault) == (Reason.APPROVALS_UNAVAILABLE, Fault.RESET)
    monkeypatch.undo()
    assert len((await office.desk.page(person(), (ApprovalState.OPEN,), size=10, after=""))[0]) == 1
    await office.approvals.tidy("acme")
    assert (await office.desk.page(person(), (ApprovalState.OPEN,), size=10, after=""))[0] == []
    assert await office.keys.of("acme").look("k1") is None


# Deciding.


async def test_a_person_sees_what_would_run(office: Office) -> None:
    """The prepared arguments, the preview, why policy asks, and what it is bound to."""
    shown = await office.desk.get(person(), await office.park(preview_json=b'{"was":1,"will_be":2}'))
    assert shown.arguments_json == arguments().canonical
    assert shown.arguments_digest == arguments().digest
    assert shown.preview_json == b'{"was":1,"will_be":2}'
    assert [(each.code, each.message) for each in shown.reasons] == [("high_risk", "High risk.")]
    assert (shown.requester, shown.agent, shown.tool, shown.connection) == ("helper-1", "helper", "send", "fake")
    assert (shown.state, shown.risk, shown.policy_revision) == (ApprovalState.OPEN, "low", "r1")


async def test_the_last_approval_that_is_needed_approves(office: Office) -> None:
    """Two of three people, each of whom counts once."""
    approval_id = await office.park(decision=asking(count=2))
    first = await office.desk.decide(person("ann"), saying(approval_id))
    assert first.state is ApprovalState.OPEN
    await _refused(office.desk.decide(person("ann"), saying(approval_id)), RefusedKind.CONFLICT)
    second = await office.desk.decide(person("bob"), saying(approval_id))
    assert second.state is ApprovalState.APPROVED
    assert [one.person for one in second.decisions] == ["ann", "bob"]
    await _refused(office.desk.decide(person("eve"), saying(approval_id)), RefusedKind.CONFLICT)


async def test_people_who_decide_at_once_are_each_counted_once(office: Office) -> None:
    """Of five, of whom three are needed, three count; the others are told that they were late."""
    approval_id = await office.park(decision=asking(count=3))
    deciding = (office.desk.decide(person(name), saying(approval_id)) for name in ("a", "b", "c", "d", "e"))
    found = await asyncio.gather(*deciding, return_exceptions=True)
    assert sum(isinstance(each, Refused) for each in found) == 2
    shown = await office.desk.get(person(), approval_id)
    assert (shown.state, len(shown.decisions)) == (ApprovalState.APPROVED, 3)


async def test_one_denial_denies(office: Office) -> None:
    """The call has ended, the agent is told what was said and not by whom, and the key goes on telling it."""
    approval_id = await office.park(call_id="c1", key="k1", decision=asking(count=2))
    await office.approve(approval_id, "ann")
    denied = await office.desk.decide(person("bob"), saying(approval_id, approve=False, reason="Too much money."))
    assert denied.state is ApprovalState.DENIED
    told = await office.approvals.state("acme", approval_id)
    assert isinstance(told, Failure)
    assert told.reason is Reason.APPROVAL_DENIED
    assert "Too much money." in told.message
    assert "bob" not in told.message
    assert await _told(office, "c1") == told
    known = await office.keys.of("acme").look("k1")
    assert known is not None
    assert known.standing is Standing.PARKED
    assert await office.approvals.approved("acme", approval_id) is None


async def test_what_a_person_said_can_be_kept_from_the_agent(office: Office) -> None:
    """By the settings."""
    quiet = Office(office.database, office.clock, settings=ApprovalSettings(tell_reasons=False))
    approval_id = await quiet.park()
    await quiet.desk.decide(person(), saying(approval_id, approve=False, reason="A secret reason."))
    told = await quiet.approvals.state("acme", approval_id)
    assert isinstance(told, Failure)
    assert "secret" not in told.message


async def test_the_requester_does_not_decide(office: Office) -> None:
    """Nor in another spelling, nor whoever speaks for the agent that asked; the database would refuse it too."""
    asked_by = principal(id="Ann", kind=CallerKind.HUMAN)
    approval_id = await office.park(principal=asked_by)
    for who in (person("Ann"), person("ann"), person("\uff41nn"), person("bob", agent="helper")):
        message = await _refused(office.desk.decide(who, saying(approval_id)), RefusedKind.FORBIDDEN)
        assert "cannot give it" in message
    await office.approve(approval_id, "bob")


@pytest.mark.parametrize("kind", [CallerKind.AGENT, CallerKind.WORKFLOW])
async def test_no_program_decides(office: Office, kind: CallerKind) -> None:
    """Whatever roles it holds; it may not even look unless the settings say so."""
    approval_id = await office.park()
    program = person("bot", kind=kind)
    await _refused(office.desk.decide(program, saying(approval_id)), RefusedKind.NOT_FOUND)
    viewing = Office(office.database, office.clock, settings=ApprovalSettings(viewer_roles=("approver",)))
    assert (await viewing.desk.get(program, approval_id)).approval_id == approval_id
    await _refused(viewing.desk.decide(program, saying(approval_id)), RefusedKind.FORBIDDEN)
    await _refused(viewing.desk.decide(person(proof="none"), saying(approval_id)), RefusedKind.FORBIDDEN)


async def test_deciding_takes_a_role_that_is_asked_for(office: Office) -> None:
    """Whoever has none does not see it; whoever may look at all of them is told what it takes."""
    approval_id = await office.park(decision=asking(roles=("treasurer", "boss")))
    await _refused(office.desk.get(person("ann", "clerk"), approval_id), RefusedKind.NOT_FOUND)
    viewing = Office(office.database, office.clock, settings=ApprovalSettings(viewer_roles=("clerk",)))
    message = await _refused(viewing.desk.decide(person("ann", "clerk"), saying(approval_id)), RefusedKind.FORBIDDEN)
    assert "boss, treasurer" in message
    decided = await office.desk.decide(person("ann", "clerk", "treasurer"), saying(approval_id))
    assert decided.decisions[0].roles == ("treasurer",)


@pytest.mark.parametrize("reason", ["", "  \n ", "x" * 2001, "a\x00b"])
async def test_a_decision_has_a_reason(office: Office, reason: str) -> None:
    """Plain text that is neither empty nor endless."""
    approval_id = await office.park()
    await _refused(office.desk.decide(person(), saying(approval_id, reason=reason)), RefusedKind.INVALID)
    assert await _state(office, approval_id) is ApprovalState.OPEN


async def test_a_decision_on_other_arguments_is_refused(office: Office) -> None:
    """And one that does not say on which."""
    approval_id = await office.park()
    for verdict in (saying(approval_id, text="other"), replace(saying(approval_id), arguments_digest="")):
        await _refused(office.desk.decide(person(), verdict), RefusedKind.CONFLICT)
    assert await _state(office, approval_id) is ApprovalState.OPEN


async def test_after_its_time_nothing_is_decided(office: Office) -> None:
    """At the very moment when it is over; the call then has ended, and its key says so."""
    approval_id = await office.park(call_id="c1", decision=asking(seconds=60))
    office.clock.advance(60)
    await _refused(office.desk.decide(person(), saying(approval_id)), RefusedKind.CONFLICT)
    told = await office.approvals.state("acme", approval_id)
    assert isinstance(told, Failure)
    assert told.reason is Reason.APPROVAL_EXPIRED
    assert await office.approvals.tidy("acme") == ()
    assert await _state(office, approval_id) is ApprovalState.EXPIRED
    assert await _told(office, "c1") == told


async def test_the_key_of_a_call_that_nobody_approved_is_free_in_the_end(office: Office) -> None:
    """Once the outcome is not kept any more; then no preview is kept either."""
    await office.park(key="k1", decision=asking(seconds=60), preview_json=b"{}")
    office.clock.advance(60)
    await office.approvals.tidy("acme")
    assert await office.keys.of("acme").look("k1") is not None
    office.clock.advance(24 * 3600 + 61)
    await office.approvals.tidy("acme")
    assert await office.keys.of("acme").look("k1") is None


async def test_another_tenants_approval_is_not_found(office: Office) -> None:
    """With every role in the world."""
    approval_id = await office.park()
    stranger = person(tenant="other")
    if office.database.settings.is_sqlite:  # it takes no second tenant at all
        await _refused(office.desk.get(stranger, approval_id), RefusedKind.UNAVAILABLE)
        return
    await _refused(office.desk.get(stranger, approval_id), RefusedKind.NOT_FOUND)
    await _refused(office.desk.decide(stranger, saying(approval_id)), RefusedKind.NOT_FOUND)
    assert (await office.desk.page(stranger, tuple(ApprovalState), size=10, after=""))[0] == []


@pytest.mark.parametrize("approval_id", ["", "apr_none", "a\x00b", "\u00e4"])
async def test_an_approval_that_is_not_there_is_not_found(office: Office, approval_id: str) -> None:
    """However odd its id."""
    await _refused(office.desk.get(person(), approval_id), RefusedKind.NOT_FOUND)


async def test_approvals_are_listed_by_age_and_in_pages(office: Office) -> None:
    """Those that the person may see, without what is private; every one on exactly one page."""
    mine = [await office.park() for _ in range(3)]
    await office.park(decision=asking(roles=("boss",)))
    mine.append(await office.park())
    seen, after = [], ""
    while True:
        found, after = await office.desk.page(person(), (ApprovalState.OPEN,), size=2, after=after)
        seen += found
        if not after:
            break
    assert [each.approval_id for each in seen] == mine
    assert {each.arguments_json for each in seen} == {b""}
    assert {reason.message for each in seen for reason in each.reasons} == {""}
    await office.approve(mine[0])
    approved, _ = await office.desk.page(person(), (ApprovalState.APPROVED,), size=9, after="")
    assert [each.approval_id for each in approved] == mine[:1]


# Running.


async def test_an_approved_call_runs_with_what_was_stored(office: Office) -> None:
    """The caller of then, the request as it was asked, and the approval as policy sees it."""
    asked_by = principal(claims={"team": "sales"})
    approval_id = await office.given(call_id="c1", key="k1", principal=asked_by)
    approved = await office.approved(approval_id)
    assert approved.principal == asked_by
    assert approved.principal.policy_json == asked_by.policy_json
    assert (approved.request.idempotency_key, approved.request.run_id) == ("k", "run-1")
    assert approved.request.arguments_json == arguments().canonical
    assert (approved.call_id, approved.key, approved.connection) == ("c1", "k1", "fake")
    assert not approved.edited
    assert b'"same_revision":true' in approved.approval_json("r1")
    assert b'"same_revision":false' in approved.approval_json("r2")


async def test_a_write_runs_once_and_its_key_gives_the_result(office: Office) -> None:
    """The approval is used, the call has ended, and a second execution is refused."""
    approval_id = await office.given(call_id="c1", key="k1")
    approved = await office.approved(approval_id)
    answer = await office.execute(approved)
    assert not await office.approvals.ended(approved, answer.outcome)
    assert await _state(office, approval_id) is ApprovalState.USED
    assert await _told(office, "c1") == answer.outcome
    known = await office.keys.of("acme").look("k1")
    assert known is not None
    assert (known.standing, known.result) == (Standing.DONE, answer.outcome)
    again_answer = await office.execute(approved)
    assert isinstance(again_answer.outcome, Failure)
    assert await office.approvals.approved("acme", approval_id) is None
    assert office.effects == ["c1"]


async def test_a_read_runs_once_too(office: Office) -> None:
    """It has no key; its result is kept for an hour."""
    approval_id = await office.given(call_id="c1", key="", tool=READ)
    approved = await office.approved(approval_id)
    answers = await asyncio.gather(*(office.execute(approved) for _ in range(5)))
    assert office.effects == ["c1"]
    done = next(answer for answer in answers if not isinstance(answer.outcome, Failure))
    assert {answer.outcome.reason for answer in answers if isinstance(answer.outcome, Failure)} == {
        Reason.APPROVAL_MISMATCH
    }
    await office.approvals.ended(approved, done.outcome)
    assert await _told(office, "c1") == done.outcome
    office.clock.advance(3601)
    async with office.database.tenant("acme", is_read=True) as session:
        assert await calls.find(session, "c1", moment_of(office.clock.now())) is None


async def test_nothing_but_what_was_approved_runs(office: Office) -> None:
    """Other arguments, another version of the tool, another connection or another place that it leads to: refused, and
    the approval is not used.
    """
    approval_id = await office.given(key="", tool=READ)
    approved = await office.approved(approval_id)
    others = (
        approved.binding(arguments("other"), SEND, connection()),
        approved.binding(arguments(), tool(name="send", version="2"), connection()),
        approved.binding(arguments(), SEND, connection(name="other")),
        approved.binding(arguments(), READ, replace(connection(), target=Target(name="fake", hosts=("else.example",)))),
        approved.binding(arguments(), READ, replace(connection(), credential="env:OTHER")),
    )
    for use in others:
        with pytest.raises(Refusal) as caught:
            await office.approvals.use(approved, use, office.clock.now())
        assert caught.value.reason is Reason.APPROVAL_MISMATCH
    assert await _state(office, approval_id) is ApprovalState.APPROVED


async def test_an_approval_that_is_over_is_not_used(office: Office) -> None:
    """Though it was given in time; whoever asks is told so."""
    approval_id = await office.given(call_id="c1")
    approved = await office.approved(approval_id)
    office.clock.advance(3600)
    answer = await office.execute(approved)
    assert isinstance(answer.outcome, Failure)
    assert not await office.approvals.ended(approved, answer.outcome)
    assert office.effects == []
    assert await _state(office, approval_id) is ApprovalState.EXPIRED
    assert await office.approvals.approved("acme", approval_id) is None


async def test_a_clock_that_is_behind_uses_what_was_just_given(office: Office) -> None:
    """The two gateways' clocks need not be equal."""
    approval_id = await office.given()
    behind = Office(office.database, FakeClock(office.clock.now() - 2), "w2")
    found = await behind.approvals.approved("acme", approval_id)
    assert found is not None
    answer = await behind.execute(found)
    assert not isinstance(answer.outcome, Failure)


async def test_what_may_be_over_soon_leaves_the_approval(office: Office) -> None:
    """It may be tried again until it is over."""
    approval_id = await office.given(call_id="c1")
    approved = await office.approved(approval_id)
    for reason in (Reason.POLICY_UNAVAILABLE, Reason.AGENT_RATE):
        assert await office.approvals.ended(approved, Failure(reason=reason, message="Later."))
    assert await _state(office, approval_id) is ApprovalState.APPROVED
    office.clock.advance(3600)
    assert not await office.approvals.ended(approved, Failure(reason=Reason.AGENT_RATE, message="Later."))


@pytest.mark.parametrize("reason", [Reason.POLICY_DENIED, Reason.CANCELLED, Reason.INTERNAL])
async def test_a_call_that_cannot_run_any_more_is_withdrawn(office: Office, reason: Reason) -> None:
    """The agent is told why, and its key is free for another try."""
    approval_id = await office.given(call_id="c1", key="k1")
    approved = await office.approved(approval_id)
    denial = Failure(reason=reason, message="Not today.")
    assert not await office.approvals.ended(approved, denial)
    assert await _state(office, approval_id) is ApprovalState.WITHDRAWN
    assert await _told(office, "c1") == denial
    assert await office.keys.of("acme").look("k1") is None


async def test_whoever_was_too_slow_changes_nothing(office: Office) -> None:
    """Another gateway carries the call out: its outcome counts."""
    other = Office(office.database, office.clock, "w2", effects=office.effects)
    approval_id = await office.given(call_id="c1")
    approved = await office.approved(approval_id)
    done = await other.execute(approved)
    late = await office.execute(approved)
    assert isinstance(late.outcome, Failure)
    assert not await office.approvals.ended(approved, late.outcome)
    assert (await _call(office, "c1")).state == calls.RUNNING
    await other.approvals.ended(approved, done.outcome)
    assert await _told(office, "c1") == done.outcome


async def test_an_effect_of_which_nobody_knows_stays_unknown(office: Office) -> None:
    """The approval is used and the key is taken."""
    approval_id = await office.given(call_id="c1", key="k1")
    office.after = [Failure(reason=Reason.OUTCOME_UNKNOWN, message="Nobody knows.")]
    approved = await office.approved(approval_id)
    answer = await office.execute(approved)
    assert not await office.approvals.ended(approved, answer.outcome)
    assert (await _call(office, "c1")).state == calls.UNKNOWN
    known = await office.keys.of("acme").look("k1")
    assert known is not None
    assert known.standing is Standing.UNKNOWN
    assert await _state(office, approval_id) is ApprovalState.USED


async def test_a_failure_after_the_claim_uses_the_approval(office: Office) -> None:
    """It was for one execution, and that was it; the key is free."""
    approval_id = await office.given(call_id="c1", key="k1")
    office.after = [Failure(reason=Reason.VENDOR_UNAVAILABLE, message="Down.")]
    approved = await office.approved(approval_id)
    answer = await office.execute(approved)
    assert not await office.approvals.ended(approved, answer.outcome)
    assert await _told(office, "c1") == answer.outcome
    assert await _state(office, approval_id) is ApprovalState.USED
    assert await office.keys.of("acme").look("k1") is None


async def test_a_call_can_be_withdrawn_until_it_is_carried_out(office: Office) -> None:
    """Then it is certain that nothing was done; later it is too late."""
    approval_id = await office.given(call_id="c1", key="k1")
    approved = await office.approved(approval_id)
    assert await office.approvals.withdraw("acme", approval_id)
    assert not await office.approvals.withdraw("acme", approval_id)
    answer = await office.execute(approved)
    assert isinstance(answer.outcome, Failure)
    assert not await office.approvals.ended(approved, answer.outcome)
    told = await _told(office, "c1")
    assert isinstance(told, Failure)
    assert told.reason is Reason.APPROVAL_WITHDRAWN
    assert await office.keys.of("acme").look("k1") is None
    second = await office.given()
    await office.execute(await office.approved(second))
    assert not await office.approvals.withdraw("acme", second)
    assert len(office.effects) == 1


@pytest.mark.parametrize("name", ["ann", "ANN", "\uff41nn"])
async def test_two_spellings_of_a_name_are_not_two_people(office: Office, name: str) -> None:
    """Where two have to agree, nobody is both of them."""
    approval_id = await office.park(decision=asking(count=2))
    await office.desk.decide(person("ann"), saying(approval_id))
    with pytest.raises(Refused) as caught:
        await office.desk.decide(person(name), saying(approval_id))
    assert caught.value.kind is RefusedKind.CONFLICT
    assert (await office.desk.get(person(), approval_id)).state is ApprovalState.OPEN


async def test_what_was_asked_is_not_kept_of_a_call_that_is_withdrawn(office: Office) -> None:
    """Whoever asks and cancels without end must not fill the disk; who asked for what by its digest stays."""
    approval_id = await office.park(call_id="c1", preview_json=b'{"was":1}')
    before = await office.desk.get(person(), approval_id)
    assert (before.arguments_json, before.preview_json) == (arguments().canonical, b'{"was":1}')
    assert await office.approvals.withdraw("acme", approval_id)
    after = await office.desk.get(person(), approval_id)
    assert (after.arguments_json, after.preview_json) == (b"", b"")
    assert (after.state, after.arguments_digest) == (ApprovalState.WITHDRAWN, before.arguments_digest)


async def test_whoever_watches_is_told_that_the_gateway_ends(office: Office) -> None:
    """At once, and so is who begins to watch then."""
    watching = asyncio.create_task(office.desk.changed())
    await asyncio.sleep(0)
    office.desk.drain()
    for waiting in (watching, office.desk.changed()):
        with pytest.raises(Refused) as caught:
            await asyncio.wait_for(waiting, 0.5)
        assert caught.value.kind is RefusedKind.UNAVAILABLE


async def test_stricter_terms_park_it_again(office: Office) -> None:
    """Whoever approved counts for the new question as far as they hold its roles; the key tells of the new one."""
    approval_id = await office.given(call_id="c1", key="k1")
    office.judged = lambda _: asking(count=2)
    approved = await office.approved(approval_id)
    answer = await office.execute(approved)
    assert isinstance(answer.outcome, Pending)
    assert not await office.approvals.ended(approved, answer.outcome)
    assert await _state(office, approval_id) is ApprovalState.WITHDRAWN
    fresh = await office.desk.get(person("bob"), answer.outcome.approval_id)
    assert (fresh.state, [one.person for one in fresh.decisions]) == (ApprovalState.OPEN, ["ann"])
    known = await office.keys.of("acme").look("k1")
    assert known is not None
    assert known.approval_id == fresh.approval_id
    await office.approve(fresh.approval_id, "bob")
    done = await office.execute(await office.approved(fresh.approval_id))
    assert not isinstance(done.outcome, Failure | Pending)


async def test_a_role_that_is_newly_asked_for_has_to_be_held(office: Office) -> None:
    """Whoever approved without it does not count."""
    approved = await office.approved(await office.given())
    assert approved.meets(asking())
    assert approved.meets(ALLOW)
    assert not approved.meets(DENY)
    assert not approved.meets(asking(roles=("boss",)))
    assert not approved.meets(asking(count=2))
    assert not replace(approved, age_seconds=60).meets(asking(seconds=60))
    office.judged = lambda _: asking(roles=("boss",))
    answer = await office.execute(approved)
    assert isinstance(answer.outcome, Pending)
    assert (await office.desk.get(person("eve", "boss"), answer.outcome.approval_id)).decisions == ()


# Editing.


async def _edit(office: Office, approval_id: str, text: str = "edited", who: str = "ann") -> Failure | Pending:
    edited = await office.desk.edited(person(who), saying(approval_id), arguments(text).canonical)
    outcome = (await office.execute(edited)).outcome
    assert isinstance(outcome, Failure | Pending)
    assert not await office.approvals.ended(edited, outcome)
    return outcome


async def test_edited_arguments_are_asked_for_anew(office: Office) -> None:
    """The old approval is withdrawn, the editor's counts for the new one, and the agent's own key still finds it."""
    approval_id = await office.park(call_id="c1", key="k1", decision=asking(count=2))
    office.judged = lambda _: asking(count=2)
    pending = await _edit(office, approval_id)
    assert isinstance(pending, Pending)
    old = await office.desk.get(person(), approval_id)
    assert (old.state, old.arguments_json) == (ApprovalState.WITHDRAWN, b"")
    fresh = await office.desk.get(person("bob"), pending.approval_id)
    assert fresh.arguments_json == arguments("edited").canonical
    assert [one.person for one in fresh.decisions] == ["ann"]
    known = await office.keys.of("acme").look("k1")
    assert known is not None
    assert (known.arguments_digest, known.approval_id) == (arguments().digest, fresh.approval_id)
    await _refused(office.desk.decide(person("bob"), saying(fresh.approval_id)), RefusedKind.CONFLICT)
    await office.desk.decide(person("bob"), saying(fresh.approval_id, text="edited"))
    office.text = "edited"
    done = await office.execute(await office.approved(fresh.approval_id))
    assert not isinstance(done.outcome, Failure | Pending)
    assert office.effects == ["c1"]


async def test_an_edit_that_policy_allows_outright_keeps_the_terms(office: Office) -> None:
    """The editor's approval is enough where one is; nothing runs before it is written down."""
    approval_id = await office.park(decision=asking(roles=("boss", "approver")))
    pending = await _edit(office, approval_id)
    assert isinstance(pending, Pending)
    fresh = await office.desk.get(person(), pending.approval_id)
    assert fresh.state is ApprovalState.APPROVED
    assert set(fresh.terms.roles) == {"boss", "approver"}
    assert office.effects == []


async def test_an_edit_that_policy_denies_changes_nothing(office: Office) -> None:
    """The approval is open still."""
    approval_id = await office.park()
    office.judged = lambda _: DENY
    failure = await _edit(office, approval_id)
    assert isinstance(failure, Failure)
    assert failure.reason is Reason.POLICY_DENIED
    assert await _state(office, approval_id) is ApprovalState.OPEN


async def test_of_edits_at_once_one_is_taken(office: Office) -> None:
    """The others are told to look again, whether they come too late for the desk or for the store."""
    approval_id = await office.park()
    office.judged = lambda _: asking(count=2)
    edits = (_edit(office, approval_id, name, who=name) for name in ("a", "b", "c", "d"))
    found = await asyncio.gather(*edits, return_exceptions=True)
    others = [each for each in found if not isinstance(each, Pending)]
    assert len(others) == 3
    for other in others:
        is_late = isinstance(other, Refused) and other.kind is RefusedKind.CONFLICT
        assert is_late or (isinstance(other, Failure) and other.reason is Reason.APPROVAL_WITHDRAWN)


async def test_only_who_may_approve_may_edit(office: Office) -> None:
    """And only when approving."""
    approval_id = await office.park(principal=principal(id="ann"))
    edited = arguments("edited").canonical
    await _refused(office.desk.edited(person("ann"), saying(approval_id), edited), RefusedKind.FORBIDDEN)
    denying = saying(approval_id, approve=False)
    await _refused(office.desk.edited(person("bob"), denying, edited), RefusedKind.INVALID)
    await _refused(office.desk.edited(person("bob", "clerk"), saying(approval_id), edited), RefusedKind.NOT_FOUND)


# Races.


async def test_decisions_and_uses_that_race_never_execute_wrongly(office: Office) -> None:
    """Never twice, never with a bound field changed, never after its time, never by the requester or a program."""
    assert await approval_races(office.database, cases=24) == []


async def test_races_find_an_approval_that_is_bound_to_nothing(office: Office) -> None:
    """The races above can fail: without the binding they do."""
    with without_binding():
        found = await approval_races(office.database, cases=16)
    assert any("bound field" in violation for violation in found)


# What is left over.


async def test_what_nobody_has_run_is_found_after_a_while(office: Office) -> None:
    """Whoever took the last decision has some seconds to begin."""
    approval_id = await office.given()
    assert await office.approvals.tidy("acme") == ()
    office.clock.advance(6)
    assert await office.approvals.tidy("acme") == (approval_id,)


async def _cut_off(office: Office, **changes: object) -> None:
    """A gateway carried the call out and went away before it could say so."""
    gone = Office(office.database, office.clock, "gone", seal=office.seal)
    gone.after = changes.pop("after", [])  # type: ignore[assignment]
    approval_id = await gone.given(**changes)
    await gone.execute(await gone.approved(approval_id))
    assert await office.approvals.tidy("acme") == ()


async def test_a_call_that_was_cut_off_ends_as_its_key_says(office: Office) -> None:
    """Done, with the result; only once the gateway is taken for gone, and however else the row was left."""
    await _cut_off(office, call_id="c1")
    assert (await _call(office, "c1")).state == calls.RUNNING
    office.clock.advance(61)
    async with office.database.tenant("acme") as session:
        now = moment_of(office.clock.now())
        await calls.close_lapsed(session, now, until=moment_of(office.clock.now() + 3600))
    await office.approvals.tidy("acme")
    kept = await _call(office, "c1")
    assert (kept.state, kept.outcome) == (calls.FINISHED, "ok")
    assert not isinstance(await _told(office, "c1"), Failure)


async def test_a_read_that_was_cut_off_changed_nothing(office: Office) -> None:
    """Its caller is told to ask again."""
    await _cut_off(office, call_id="c1", key="", tool=READ)
    office.clock.advance(61)
    await office.approvals.tidy("acme")
    told = await _told(office, "c1")
    assert isinstance(told, Failure)
    assert told.reason is Reason.CANCELLED


async def test_a_call_that_was_cut_off_in_the_dark_is_unknown(office: Office) -> None:
    """Its key is unknown, or is not there to ask."""
    await _cut_off(office, call_id="c1", after=[Failure(reason=Reason.OUTCOME_UNKNOWN, message="?")])
    office.clock.advance(61)
    await office.approvals.tidy("acme")
    assert (await _call(office, "c1")).state == calls.UNKNOWN
    await _cut_off(office, call_id="c2", after=[Failure(reason=Reason.VENDOR_UNAVAILABLE, message="?")])
    office.clock.advance(61)
    await office.approvals.tidy("acme")
    assert (await _call(office, "c2")).outcome == "outcome_unknown"


async def test_a_watcher_is_woken_by_every_change(office: Office) -> None:
    """Without waiting for the next look at the store."""
    watching = asyncio.create_task(office.desk.changed())
    await asyncio.sleep(0)
    approval_id = await office.park()
    await asyncio.wait_for(watching, 0.5)
    watching = asyncio.create_task(office.desk.changed())
    await asyncio.sleep(0)
    await office.approve(approval_id)
    await asyncio.wait_for(watching, 0.5)


async def test_parking_in_the_place_of_what_waits_no_longer_is_refused(office: Office) -> None:
    """Nothing is changed."""
    approval_id = await office.given(call_id="c1")
    approved = await office.approved(approval_id)
    await office.approvals.withdraw("acme", approval_id)
    with pytest.raises(Refusal) as caught:
        await office.approvals.park(again(approved, asking(), arguments(), office.clock.now()))
    assert caught.value.reason is Reason.APPROVAL_WITHDRAWN
    assert await office.approvals.approved("acme", approval_id) is None
