"""The document of an operator's deed: valid by its schema, and equal to its parts."""

import json
from pathlib import Path

import jsonschema_rs
from fakes.packs import SCHEMAS
from fakes.packs import admin_document as usual_document
from fakes.principals import principal

from gateway.policy.admin import AdminAction, AdminFacts, admin_document
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
