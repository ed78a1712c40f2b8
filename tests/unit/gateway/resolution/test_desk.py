"""What people may do about unknown outcomes."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from fakes.clock import FakeClock
from fakes.unresolved import WORD, Scene, person
from real.stores import locked, opened, sqlite_settings

from adapters.base import Happened
from gateway.call import CallerKind, Decision, DecisionEffect, Principal
from gateway.errors import Reason, Refusal, Refused, RefusedKind
from gateway.settings.store import StoreSettings


@pytest.fixture
async def settings(tmp_path: Path) -> StoreSettings:
    """A database."""
    return await sqlite_settings(tmp_path)


@pytest.fixture
async def scene(settings: StoreSettings) -> AsyncIterator[Scene]:
    """Two effects are unknown; of the second nobody can be asked."""
    clock = FakeClock()
    async with opened(settings, clock) as database:
        scene = Scene(database=database, clock=clock)
        await scene.put("c1")
        clock.advance(1)
        await scene.put("c2", is_askable=False)
        yield scene


class Asked:
    """Says what it was told to, and keeps what it was asked."""

    def __init__(self, effect: DecisionEffect = DecisionEffect.ALLOW) -> None:
        self.effect = effect
        self.failure: Refusal | None = None
        self.asked: list[tuple[str, str, dict[str, str]]] = []

    async def __call__(self, principal: Principal, action: str, about: Mapping[str, str]) -> Decision:
        """The one decision."""
        self.asked.append((principal.id, action, dict(about)))
        if self.failure is not None:
            raise self.failure
        return Decision(effect=self.effect, reasons=(), obligations=(), revision="r1")


async def _refused(scene: Scene, who: Principal, call_id: str = "c1", reason: str = WORD, **more: Any) -> RefusedKind:
    with pytest.raises(Refused) as caught:
        await scene.desk(**more).resolve(who, call_id, Happened.YES, reason)
    return caught.value.kind


async def test_a_person_sees_them_oldest_first(scene: Scene) -> None:
    """What each was to do, and whether the gateway can ask itself."""
    shown, token = await scene.desk().unresolved(person(), token="", size=0)
    assert token == ""
    assert [(one.unknown.call_id, one.is_askable) for one in shown] == [("c1", True), ("c2", False)]
    assert shown[0].told.arguments == '{"amount":5,"to":"…"}'


async def test_pages_follow_one_another(scene: Scene) -> None:
    """Until there is no token any more."""
    await scene.put("c3")
    desk, token, found = scene.desk(), "", []
    for _ in range(3):
        shown, token = await desk.unresolved(person(), token=token, size=1)
        found += [one.unknown.call_id for one in shown]
        assert (token == "") == (len(found) == 3)
    assert found == ["c1", "c2", "c3"]


@pytest.mark.parametrize("token", ["x", "1e9", ".", "9" * 40, "x.c1"])
async def test_a_token_that_no_page_ended_with_is_refused(scene: Scene, token: str) -> None:
    """In one sentence."""
    with pytest.raises(Refused) as caught:
        await scene.desk().unresolved(person(), token=token, size=1)
    assert caught.value.kind is RefusedKind.INVALID


async def test_what_a_person_says_holds(scene: Scene) -> None:
    """And has their line."""
    shown = await scene.desk().resolve(person(), "c2", Happened.NO, WORD)
    assert shown.unknown.call_id == "c2"
    assert await scene.standing("c2") == ""
    assert [(line.principal, line.note) for line in scene.lines] == [("ann", WORD)]


@pytest.mark.parametrize("reason", ["", "  ", "\n\t"])
async def test_a_reason_is_demanded(scene: Scene, reason: str) -> None:
    """Not white space alone."""
    assert await _refused(scene, person(), reason=reason) is RefusedKind.INVALID
    assert await scene.standing() == "unknown"


@pytest.mark.parametrize(
    "changes",
    [{"kind": CallerKind.AGENT}, {"kind": CallerKind.WORKFLOW}, {"scopes": frozenset({"calls:list", "test:write"})}],
)
async def test_whoever_may_not_settles_nothing_and_the_attempt_has_a_line(scene: Scene, changes: Any) -> None:
    """An agent and a workflow whatever their scopes, and a person without the scope."""
    assert await _refused(scene, person(**changes)) is RefusedKind.FORBIDDEN
    assert await scene.standing() == "unknown"
    (line,) = scene.lines
    assert (line.outcome, line.effect_id, line.principal, line.happened) == ("forbidden", "e-c1", "ann", "")


async def test_whoever_may_not_learns_nothing_of_which_there_are(scene: Scene) -> None:
    """A call that is there and one that is not give the same answer."""
    told = []
    for call_id in ("c1", "c9"):
        with pytest.raises(Refused) as caught:
            await scene.desk().resolve(person(scopes=frozenset()), call_id, Happened.YES, WORD)
        told.append((caught.value.kind, caught.value.message))
    assert told[0] == told[1]


async def test_an_agent_sees_none(scene: Scene) -> None:
    """Whatever its scopes; nor does anybody who may not."""
    for who in (person(kind=CallerKind.AGENT), person(scopes=frozenset())):
        with pytest.raises(Refused) as caught:
            await scene.desk().unresolved(who, token="", size=0)
        assert caught.value.kind is RefusedKind.FORBIDDEN


async def test_policy_is_asked_who_may(scene: Scene) -> None:
    """With what the call was, and nothing of the caller's own words."""
    may = Asked()
    who = person(scopes=frozenset())
    await scene.desk(may).unresolved(who, token="", size=0)
    await scene.desk(may).resolve(who, "c1", Happened.YES, WORD)
    about = {"call_id": "c1", "agent": "helper", "tool": "pay", "connection": "bank"}
    assert may.asked == [("ann", "calls.list", {}), ("ann", "calls.resolve", about)]


async def test_anything_but_an_allow_is_a_no(scene: Scene) -> None:
    """Also when somebody else would have to approve it."""
    for effect in (DecisionEffect.DENY, DecisionEffect.REQUIRE_APPROVAL):
        assert await _refused(scene, person(), may=Asked(effect)) is RefusedKind.FORBIDDEN
    assert await scene.standing() == "unknown"


async def test_while_policy_cannot_say_nobody_may(scene: Scene) -> None:
    """Its refusal goes its way."""
    may = Asked()
    may.failure = Refusal(Reason.POLICY_UNAVAILABLE, "It is away.")
    with pytest.raises(Refusal):
        await scene.desk(may).resolve(person(), "c1", Happened.YES, WORD)
    assert await scene.standing() == "unknown"


async def test_policy_does_not_let_an_agent(scene: Scene) -> None:
    """Whatever it says."""
    assert await _refused(scene, person(kind=CallerKind.AGENT), may=Asked()) is RefusedKind.FORBIDDEN


async def test_what_is_known_cannot_be_settled(scene: Scene) -> None:
    """Nor what never was."""
    await scene.desk().resolve(person(), "c1", Happened.YES, WORD)
    for call_id in ("c1", "c9"):
        assert await _refused(scene, person(), call_id) is RefusedKind.NOT_FOUND
    assert len(scene.lines) == 1


async def test_another_tenants_calls_are_not_there(scene: Scene) -> None:
    """Their person may settle theirs alone. On SQLite there is no second tenant at all."""
    assert await _refused(scene, person(tenant="other")) is RefusedKind.UNAVAILABLE
    assert await scene.standing() == "unknown"


async def test_while_the_store_does_not_answer_they_are_told(scene: Scene, settings: StoreSettings) -> None:
    """Nothing was settled."""
    with locked(settings.path):
        assert await _refused(scene, person()) is RefusedKind.UNAVAILABLE
    await scene.database.close()
    settings.path.unlink()
    settings.path.mkdir()
    with pytest.raises(Refused) as caught:
        await scene.desk().unresolved(person(), token="", size=0)
    assert caught.value.kind is RefusedKind.UNAVAILABLE
