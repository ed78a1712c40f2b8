"""The input document: valid by its schema, and equal to its parts."""

import json
from pathlib import Path

import jsonschema_rs
import pytest
from fakes.packs import SCHEMAS, document
from fakes.principals import principal
from fakes.rows import agent, connection, tool

from gateway.call import Arguments, Request
from gateway.policy.document import CallFacts, input_document

SCHEMA = jsonschema_rs.Draft202012Validator(json.loads(Path(SCHEMAS, "input.schema.json").read_text()))


def _facts(**changes: object) -> CallFacts:
    request = Request(tool="echo", arguments_json=b"", run_id='r"1', step_id="s\u2028", mode="auto\\")
    usual = {"call_id": 'c"1', "request": request, "now": 1_767_614_400.25, "is_key_given": True, "cost": {"eur": 1}}
    return CallFacts(**{**usual, **changes})  # type: ignore[arg-type]


def _arguments(value: dict[str, object]) -> Arguments:
    return Arguments(value=value, canonical=json.dumps(value).encode(), digest="")


def test_every_part_is_where_the_schema_says() -> None:
    """The document of rows as the registry writes them is valid, and each part is what it was made of."""
    parts = document()
    tool_row = tool(policy_json=json.dumps(parts["tool"]).encode())
    agent_row = agent(policy_json=json.dumps(parts["agent"]).encode())
    account = connection(policy_json=json.dumps(parts["connection"]).encode())
    made = json.loads(
        input_document(principal(), agent_row, tool_row, account, _arguments({"text": "é"}), _facts(is_replay=True))
    )
    assert list(SCHEMA.iter_errors(made)) == []
    assert {name: made[name] for name in ("agent", "tool", "connection")} == {
        name: parts[name] for name in ("agent", "tool", "connection")
    }
    assert made["principal"]["agent"] == "helper"
    assert made["arguments"] == {"text": "é"}
    assert made["run"] == {"id": 'r"1', "step": "s\u2028"}
    assert made["call"] == {
        "id": 'c"1',
        "surface": "grpc",
        "mode": "auto\\",
        "time": "2026-01-05T12:00:00.250000Z",
        "cost": {"eur": 1},
        "key_given": True,
        "replay": True,
    }
    assert (made["provenance"], made["approval"]) == ({}, None)


def test_no_connection_is_null() -> None:
    """A tool without an account of its own is judged too."""
    made = json.loads(input_document(principal(), agent(), tool(), None, _arguments({}), _facts()))
    assert made["connection"] is None


APPROVED_UNTIL = "2026-01-02T00:00:00Z"


def test_an_approval_and_provenance_are_passed_on() -> None:
    """They are serialised by who knows them."""
    approval = {"id": "a1", "approvers": [], "revision": "sha256:0", "same_revision": True, "expires": APPROVED_UNTIL}
    facts = _facts(approval_json=json.dumps(approval).encode(), provenance_json=b'{"a":1}')
    made = json.loads(input_document(principal(), agent(), tool(), None, _arguments({}), facts))
    assert (made["approval"], made["provenance"]) == (approval, {"a": 1})
    assert SCHEMA.is_valid(document(approval=approval))


def test_the_documents_of_the_tests_are_valid() -> None:
    """What tests judge with is what the gateway sends."""
    assert list(SCHEMA.iter_errors(document())) == []


@pytest.mark.parametrize("part", ["principal", "agent", "run", "tool", "call"])
def test_the_schema_is_closed(part: str) -> None:
    """Nothing is sent that is not described."""
    assert not SCHEMA.is_valid(document(**{part: {"surprise": 1}}))
    assert not SCHEMA.is_valid({**document(), "surprise": 1})
