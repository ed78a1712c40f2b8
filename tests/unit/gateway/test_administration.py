"""What operators do is decided by policy, written down once for each row, and done all or not at all."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from fakes.administration import AGENT, CONNECTION, TOOL, Replica, change, operator, replica, whole, without
from fakes.clock import FakeClock
from fakes.packs import SCHEMAS
from real.stores import locked, opened, sqlite_settings

from gateway.administration import MANY, Administration
from gateway.arguments.schema import compile_schema
from gateway.audit.base import LineKind
from gateway.call import CallerKind
from gateway.errors import Reason, Refusal, Refused, RefusedKind
from gateway.policy.admin import AdminPolicy
from gateway.registry.changes import Change
from gateway.settings.store import StoreSettings
from gateway.store.rows import RowKind
from gateway.store.stops import StopScope

SCHEMA = orjson.loads(Path(SCHEMAS, "admin_input.schema.json").read_bytes())
DENY = '{"effect":"deny","reasons":[{"code":"no_scope","message":"You lack it.","advice":"Ask."}],"obligations":[]}'


@pytest.fixture
async def settings(tmp_path: Path) -> StoreSettings:
    """A database of one tenant."""
    return await sqlite_settings(tmp_path)


@pytest.fixture
async def one(settings: StoreSettings) -> AsyncIterator[Replica]:
    """A gateway."""
    clock = FakeClock()
    async with opened(settings, clock) as database:
        yield replica(database, clock)


async def kind_of(doing: Any) -> tuple[RefusedKind, str]:
    """How it is refused."""
    with pytest.raises(Refused) as caught:
        await doing
    return caught.value.kind, caught.value.message


async def labels(one: Replica) -> list[str]:
    """The rows that there are."""
    return [row.label for row in await one.administration.rows(operator(), tuple(RowKind), after=None, limit=99)]


async def test_rows_are_put_together_in_whatever_order_they_stand(one: Replica) -> None:
    """Each has its line, with versions and digests and nothing of its content."""
    applied = await one.administration.apply(operator(), whole())
    assert applied.issues == ()
    assert [(row.label, row.version, row.updated_by) for row in applied.rows] == [
        ("agent/helper", 1, "ann"),
        ("tool/echo", 1, "ann"),
        ("connection/fake", 1, "ann"),
    ]
    assert [(line.kind, line.tool, line.outcome) for line in one.sink.lines] == [
        (LineKind.ADMIN, "agent/helper", "ok"),
        (LineKind.ADMIN, "tool/echo", "ok"),
        (LineKind.ADMIN, "connection/fake", "ok"),
    ]
    line = one.sink.lines[1]
    assert (line.principal, line.decision, line.policy_engine) == ("ann", "allow", "fake")
    assert line.policy_revision == one.engine.revision
    told = json.loads(line.arguments)
    assert (told["action"], told["before"], told["after"]["version"]) == ("registry.put", None, 1)
    assert told["after"]["digest"] == line.arguments_digest
    assert "Gives" not in line.arguments


async def test_rows_are_taken_away_in_whatever_order_they_stand(one: Replica) -> None:
    """And a tool may move to another connection while its former one goes."""
    await one.administration.apply(operator(), whole())
    moved = TOOL | {"binding": TOOL["binding"] | {"connection": "new"}}
    changes = [
        without(RowKind.CONNECTION, "fake", expected=1),
        change(RowKind.TOOL, moved, expected=1),
        change(RowKind.CONNECTION, CONNECTION | {"name": "new"}),
    ]
    assert (await one.administration.apply(operator(), changes)).issues == ()
    assert await labels(one) == ["agent/helper", "connection/new", "tool/echo"]
    gone = [without(RowKind.CONNECTION, "new"), without(RowKind.TOOL, "echo"), without(RowKind.AGENT, "helper")]
    assert (await one.administration.apply(operator(), gone)).issues == ()
    assert await labels(one) == []


async def test_what_would_not_load_is_not_made(one: Replica) -> None:
    """Every problem is told with row and place; the line says that nothing was done."""
    lonely = change(RowKind.TOOL, TOOL | {"requires": "none"})
    applied = await one.administration.apply(operator(), [lonely, change(RowKind.AGENT, AGENT | {"groups": ["x"]})])
    assert [(issue.row, issue.path, issue.rule) for issue in applied.issues] == [
        ("tool/echo", "/requires", "frozen_set_type"),
    ]
    assert {line.outcome for line in one.sink.lines} == {"invalid"}
    assert await labels(one) == []


async def test_a_row_that_others_need_is_not_taken_away(one: Replica) -> None:
    """By the same checks: the registry without it would not load."""
    await one.administration.apply(operator(), whole())
    applied = await one.administration.apply(operator(), [without(RowKind.CONNECTION, "fake")])
    assert [(issue.row, issue.rule) for issue in applied.issues] == [("tool/echo", "connection")]
    assert len(await labels(one)) == 3


async def test_what_others_have_against_it_counts_too(one: Replica) -> None:
    """A policy that would be too slow, a credential that is not there."""
    one.against = ("the policy takes too long on echo",)
    applied = await one.administration.apply(operator(), whole())
    assert [issue.message for issue in applied.issues] == ["the policy takes too long on echo"]
    assert await labels(one) == []


async def test_validating_changes_nothing_and_leaves_no_line(one: Replica) -> None:
    """It says what is wrong; who may not change it may not try it either."""
    assert (await one.administration.apply(operator(), whole(), validate_only=True)).issues == ()
    applied = await one.administration.apply(operator(), whole()[1:2], validate_only=True)
    assert [issue.rule for issue in applied.issues] == ["connection"]
    one.engine.admin_answer = DENY
    assert (await kind_of(one.administration.apply(operator(), whole(), validate_only=True)))[
        0
    ] is RefusedKind.FORBIDDEN
    assert (one.sink.lines, one.journal.begins) == ([], [])


async def test_a_version_that_is_not_expected_is_a_conflict(one: Replica) -> None:
    """For putting and for taking away; nothing of the batch is done."""
    await one.administration.apply(operator(), whole())
    for wrong in (
        change(RowKind.TOOL, TOOL),
        change(RowKind.TOOL, TOOL, expected=2),
        without(RowKind.TOOL, "echo", expected=7),
    ):
        batch = [change(RowKind.AGENT, AGENT | {"name": "other"}), wrong]
        kind, message = await kind_of(one.administration.apply(operator(), batch))
        assert kind is RefusedKind.CONFLICT
        assert "version 1" in message
    assert (await kind_of(one.administration.apply(operator(), [without(RowKind.TOOL, "x")])))[
        0
    ] is RefusedKind.NOT_FOUND
    assert "agent/other" not in await labels(one)


async def test_policy_sees_what_is_and_what_would_be(one: Replica) -> None:
    """By the schema, with the reference of a credential, and without what is none."""
    schema = compile_schema(SCHEMA)
    secret = CONNECTION | {"credential": "hunter2", "hosts": ["a.example"]}
    await one.administration.apply(operator(), [change(RowKind.CONNECTION, secret)])
    named = CONNECTION | {"credential": "env:TOKEN", "hosts": ["a.example"]}
    await one.administration.apply(operator(), [change(RowKind.CONNECTION, named)])
    await one.administration.apply(operator(), whole())
    await one.administration.apply(operator(), [change(RowKind.CONNECTION, CONNECTION | {"scopes": ["x"]}, expected=1)])
    documents = [orjson.loads(raw) for raw in one.engine.admin_documents]
    assert [schema.problems(document) for document in documents] == [[]] * len(documents)
    assert "credential" not in documents[0]["admin"]["after"]
    assert documents[1]["admin"]["after"]["credential"] == "env:TOKEN"
    last = documents[-1]["admin"]
    assert (last["kind"], last["name"], last["before"]) == ("connection", "fake", CONNECTION)
    assert last["after"] == CONNECTION | {"scopes": ["x"]}
    assert "hunter2" not in "".join(map(str, one.sink.lines)) + "".join(line.arguments for line in one.sink.lines)


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        (DENY, RefusedKind.FORBIDDEN, "policy_denied"),
        (None, RefusedKind.FORBIDDEN, "policy_undefined"),
        ("{}", RefusedKind.FORBIDDEN, "policy_invalid"),
        ('{"effect":"require_approval","reasons":[],"obligations":[]}', RefusedKind.FORBIDDEN, "policy_denied"),
        (
            '{"effect":"allow","reasons":[],"obligations":[{"type":"require_key","value":true}]}',
            RefusedKind.FORBIDDEN,
            "policy_denied",
        ),
        (Refusal(Reason.POLICY_UNAVAILABLE, "down"), RefusedKind.UNAVAILABLE, "policy_unavailable"),
        (Refusal(Reason.POLICY_NOT_LOADED, "none"), RefusedKind.UNAVAILABLE, "policy_not_loaded"),
    ],
)
async def test_nothing_is_done_that_policy_does_not_allow(
    one: Replica, answer: str | Refusal | None, kind: RefusedKind, reason: str
) -> None:
    """Whatever its answer is: each attempt to change something has a line, with the reason."""
    one.engine.admin_answer = answer
    for doing in (
        one.administration.apply(operator(), whole()),
        one.administration.set_stop(operator(), StopScope.TOOL, "echo", "a leak"),
        one.administration.clear_stop(operator(), StopScope.TOOL, "echo", "over"),
        one.administration.rows(operator(), tuple(RowKind), after=None, limit=1),
        one.administration.row(operator(), RowKind.TOOL, "echo"),
        one.administration.stops(operator()),
    ):
        assert (await kind_of(doing))[0] is kind
    assert [(line.tool, line.outcome, line.reason) for line in one.sink.lines] == [
        (label, kind.value, reason)
        for label in ("agent/helper", "tool/echo", "connection/fake", "stop/tool/echo", "stop/tool/echo")
    ]
    one.engine.admin_answer = '{"effect":"allow","reasons":[],"obligations":[]}'
    assert (await labels(one), await one.administration.stops(operator())) == ([], ())


async def test_whoever_may_do_nothing_leaves_one_line_however_much_they_ask_for(one: Replica) -> None:
    """Else one request of somebody without any right would fill the audit and hold up everybody's calls."""
    one.engine.admin_answer = DENY
    many = [change(RowKind.AGENT, AGENT | {"name": f"a{number}"}) for number in range(MANY + 1)]
    assert (await kind_of(one.administration.apply(operator(), many)))[0] is RefusedKind.FORBIDDEN
    (line,) = one.sink.lines
    assert (line.tool, line.outcome, line.reason) == ("agent/a0", "forbidden", "policy_denied")
    assert line.note == f"The first of {MANY + 1} changes."
    assert len(one.engine.admin_documents) == 2
    one.engine.admin_answer = '{"effect":"allow","reasons":[],"obligations":[]}'
    rest = [one_more for one_more in whole() if one_more.kind is not RowKind.AGENT]
    assert len((await one.administration.apply(operator(), [*many, *rest])).rows) == MANY + 3
    assert len(one.sink.lines) == 1 + MANY + 3


async def test_a_denial_says_why(one: Replica) -> None:
    """In the words of whoever wrote the policy."""
    one.engine.admin_answer = DENY
    _, message = await kind_of(one.administration.apply(operator(), whole()))
    assert message == "Policy does not allow registry.put agent helper. You lack it. Ask."


async def test_what_is_stopped_is_told_and_cleared(one: Replica) -> None:
    """With who did it and why, and a line each; clearing what is not stopped is told."""
    stop = await one.administration.set_stop(operator(), StopScope.VENDOR, "email", "a leak")
    assert await one.administration.stops(operator()) == (stop,)
    assert (stop.set_by, stop.reason) == ("ann", "a leak")
    await one.administration.clear_stop(operator(), StopScope.VENDOR, "email", "it is over")
    assert await one.administration.stops(operator()) == ()
    kind, _ = await kind_of(one.administration.clear_stop(operator(), StopScope.VENDOR, "email", "again"))
    assert kind is RefusedKind.NOT_FOUND
    assert [(line.tool, line.note, line.outcome) for line in one.sink.lines] == [
        ("stop/vendor/email", "a leak", "ok"),
        ("stop/vendor/email", "it is over", "ok"),
        ("stop/vendor/email", "again", "not_found"),
    ]


async def test_changes_at_once_do_not_lose_one_another(one: Replica) -> None:
    """Whoever was slower is checked again on what the other made of it."""
    await one.administration.apply(operator(), whole())
    batches = [[change(RowKind.AGENT, AGENT | {"name": f"a{number}"})] for number in range(4)]
    applied = await asyncio.gather(*(one.administration.apply(operator(), batch) for batch in batches))
    assert [found.issues for found in applied] == [()] * 4
    assert [label for label in await labels(one) if label.startswith("agent/a")] == [f"agent/a{n}" for n in range(4)]
    assert len(one.sink.lines) == 3 + 4


async def test_a_store_that_does_not_answer_is_told(one: Replica, settings: StoreSettings) -> None:
    """Nobody knows whether a change was made; the line says so."""
    await one.administration.apply(operator(), whole())
    with locked(settings.path):
        kind, message = await kind_of(one.administration.apply(operator(), [without(RowKind.AGENT, "helper")]))
        assert kind is RefusedKind.UNAVAILABLE
        assert "may have been done" in message
    assert one.sink.lines[-1].outcome == "unknown"


async def test_a_caller_who_leaves_does_not_cut_a_change_off(one: Replica) -> None:
    """It is done, and has its lines."""
    leaving = asyncio.create_task(one.administration.apply(operator(), whole()))
    while not one.journal.begins:
        await asyncio.sleep(0)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    while len(one.sink.lines) < 3:
        await asyncio.sleep(0.005)
    assert {line.outcome for line in one.sink.lines} == {"ok"}
    assert len(await labels(one)) == 3


async def test_nothing_is_done_that_cannot_be_written_down(one: Replica) -> None:
    """Neither a change nor a stop."""
    one.journal.is_down = True
    for doing in (
        one.administration.apply(operator(), whole()),
        one.administration.set_stop(operator(), StopScope.TENANT, "", "a leak"),
    ):
        assert (await kind_of(doing))[0] is RefusedKind.UNAVAILABLE
    assert (await labels(one), await one.administration.stops(operator())) == ([], ())


async def test_a_registry_of_files_is_not_changed_here(one: Replica) -> None:
    """It says how it could be. What is stopped is changed all the same."""
    files = Administration(
        one.database,
        policy=AdminPolicy(one.engine),
        deeds=one.administration._deeds,
        changes=None,
        on_changed=lambda: None,
        clock=one.clock,
    )
    kind, message = await kind_of(files.apply(operator(), whole()))
    assert kind is RefusedKind.PRECONDITION
    assert "registry.source" in message
    await files.set_stop(operator(), StopScope.TENANT, "", "a leak")


async def test_another_tenant_is_refused_where_there_is_room_for_one(one: Replica) -> None:
    """SQLite holds one; the sentence says what to do."""
    await one.administration.apply(operator(), whole())
    kind, message = await kind_of(one.administration.stops(operator(tenant="rival")))
    assert kind is RefusedKind.PRECONDITION
    assert "PostgreSQL" in message


def test_a_change_is_not_shown() -> None:
    """It may hold what a person should not have written."""
    assert "hunter2" not in repr(Change(kind=RowKind.TOOL, name="x", document=b"hunter2"))
    assert operator().kind is CallerKind.HUMAN
