"""The document of an operator's deed: valid by its schema, and equal to its parts."""

import json
from pathlib import Path

import jsonschema_rs
from fakes.engine import FakeEngine
from fakes.packs import SCHEMAS
from fakes.packs import admin_document as usual_document
from fakes.principals import principal

from adapters.base import Fault
from gateway.errors import Reason, Refusal, Refused, RefusedKind
from gateway.policy.admin import AdminAction, AdminFacts, AdminPolicy, admin_document
from gateway.policy.embedded import ADMIN_PROBE

SCHEMA = jsonschema_rs.Draft202012Validator(json.loads(Path(SCHEMAS, "admin_input.schema.json").read_text()))


def test_every_part_is_where_the_schema_says() -> None:
    """Names are escaped; the documents are passed on as they are."""
    facts = AdminFacts(
        action=AdminAction.REGISTRY_PUT,
        kind="tool",
        name='o"dd',
        deed_id="d1",
        now=1_767_614_400.25,
        before_json=b'{"name":"a"}',
    )
    made = json.loads(admin_document(principal(), facts))
    assert list(SCHEMA.iter_errors(made)) == []
    assert made["admin"] == {
        "action": "registry.put",
        "kind": "tool",
        "name": 'o"dd',
        "before": {"name": "a"},
        "after": None,
    }
    assert made["principal"]["agent"] == "helper"
    assert made["call"] == {"id": "d1", "time": "2026-01-05T12:00:00.250000Z"}


def test_what_a_policy_is_tried_on_is_such_a_document() -> None:
    """And so are those of the tests."""
    assert SCHEMA.is_valid(json.loads(ADMIN_PROBE))
    assert SCHEMA.is_valid(usual_document())


def test_a_document_is_not_shown() -> None:
    """It may hold what a person wrote."""
    assert "secret" not in repr(AdminFacts(action="a.b", kind="", name="", deed_id="", now=0, after_json=b'"secret"'))


def decided(answer: str | Refusal | None) -> FakeEngine:
    """An engine that answers so to operators."""
    engine = FakeEngine()
    engine.admin_answer = answer
    return engine


async def demanded(answer: str | Refusal | None) -> tuple[RefusedKind | None, dict[str, object]]:
    """How it is refused, None when it is not, and what is told for the line."""
    told: dict[str, object] = {}
    facts = AdminFacts(action="registry.put", kind="tool", name="x", deed_id="d1", now=0.0)
    try:
        await AdminPolicy(decided(answer)).demand(principal(), facts, told.update)
    except Refused as refused:
        return refused.kind, told
    return None, told


ALLOW = '{"effect":"allow","reasons":[],"obligations":[%s]}'


async def test_only_an_allow_without_conditions_lets_anybody_do_anything() -> None:
    """What is written down in full anyway is no condition."""
    assert (await demanded(ALLOW % ""))[0] is None
    assert (await demanded(ALLOW % '{"type":"log_level","value":"full"}'))[0] is None
    for answer in (
        ALLOW % '{"type":"require_key","value":true}',
        '{"effect":"deny","reasons":[],"obligations":[]}',
        '{"effect":"require_approval","reasons":[],"obligations":[]}',
        "{}",
        None,
        Refusal(Reason.POLICY_UNDEFINED, "none"),
    ):
        assert (await demanded(answer))[0] is RefusedKind.FORBIDDEN
    assert (await demanded(Refusal(Reason.POLICY_UNAVAILABLE, "down")))[0] is RefusedKind.UNAVAILABLE


async def test_the_decision_is_told_whichever_it_is() -> None:
    """With the engine, the revision and the codes; and how the engine failed."""
    _, told = await demanded('{"effect":"deny","reasons":[{"code":"a"},{"code":"b"}],"obligations":[]}')
    assert told == {
        "policy_engine": "fake",
        "decision": "deny",
        "policy_revision": FakeEngine().revision,
        "policy_reasons": ("a", "b"),
        "obligations": (),
        "reason": "policy_denied",
    }
    _, told = await demanded(Refusal(Reason.POLICY_UNAVAILABLE, "down", fault=Fault.TIMEOUT))
    assert (told["reason"], told["fault"]) == ("policy_unavailable", "timeout")
