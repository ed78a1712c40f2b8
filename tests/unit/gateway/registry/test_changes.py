"""Changes are checked as a whole registry and made all or none (`test_administration.py` has them with policy)."""

from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest
from fakes.administration import AGENT, CONNECTION, TOOL, Replica, change, replica, whole, without
from fakes.clock import FakeClock
from real.stores import opened, sqlite_settings

from gateway.registry.catalogue import Catalogue
from gateway.registry.changes import Changes, digest_of, visible_to_policy
from gateway.store.rows import RowKind


@pytest.fixture
async def one(tmp_path: Path) -> AsyncIterator[Replica]:
    """A gateway."""
    clock = FakeClock()
    async with opened(await sqlite_settings(tmp_path), clock) as database:
        yield replica(database, clock)


async def test_a_registry_that_moved_on_is_not_changed(one: Replica) -> None:
    """What was checked is what is made, or nothing is."""
    state = await one.changes.state("acme")
    assert await one.changes.make("acme", state, whole(), "ann") is not None
    assert await one.changes.make("acme", state, [without(RowKind.AGENT, "helper")], "ann") is None
    after = await one.changes.state("acme")
    assert (after.version, len(after.rows)) == (state.version + 1, 3)
    assert after.row(RowKind.AGENT, "helper") is not None
    assert after.row(RowKind.AGENT, "nobody") is None


async def test_others_are_asked_about_what_was_and_what_would_be(one: Replica) -> None:
    """Of this tenant alone, and only once the rows are sound in themselves."""
    asked: list[tuple[list[str], list[str]]] = []

    async def against(before: Catalogue, after: Catalogue) -> tuple[str, ...]:
        asked.append(([tool.title for tool in before.tools], [tool.title for tool in after.tools]))
        return ()

    changes = Changes(one.database, one.registry, settings=lambda: one.settings, clock=one.clock, against=against)
    state = await changes.state("acme")
    assert await changes.issues("acme", state, whole(title="First")) == ()
    await changes.make("acme", state, whole(title="First"), "ann")
    state = await changes.state("acme")
    one.registry.load({"acme": state.rows}, one.settings)
    assert await changes.issues("acme", state, [change(RowKind.TOOL, TOOL | {"title": "Second"}, expected=1)]) == ()
    assert await changes.issues("acme", state, [change(RowKind.AGENT, AGENT | {"groups": ["g"]}, expected=1)])
    assert asked == [([], ["First"]), (["First"], ["Second"])]


@pytest.mark.parametrize("secret", ["hunter2", "", None, 5, "sk-live:hunter2", {"a": "hunter2"}, "env:not a name"])
def test_policy_sees_no_secret_where_a_reference_should_be(secret: object) -> None:
    """Whatever somebody wrote there."""
    assert orjson.loads(visible_to_policy(orjson.dumps(CONNECTION | {"credential": secret}))) == CONNECTION


def test_policy_sees_references_and_everything_else() -> None:
    """And null for what is not there."""
    for reference in ("env:TOKEN", "file:/run/token", "vault:secret/mail#token"):
        row = CONNECTION | {"credential": reference}
        assert orjson.loads(visible_to_policy(orjson.dumps(row))) == row
    assert orjson.loads(visible_to_policy(orjson.dumps(TOOL))) == TOOL
    assert visible_to_policy(None) == b"null"


def test_a_digest_is_of_the_bytes() -> None:
    """As they are stored."""
    assert digest_of(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
