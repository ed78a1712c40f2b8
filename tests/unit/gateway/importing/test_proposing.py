"""A document becomes rows: one tool for each operation, and what is not proposed has a reason."""

import copy
from typing import Any

import pytest
from fakes.descriptions import answered, body, document, parameter, proposed, row_of
from hypothesis import given
from hypothesis import strategies as st

from gateway.arguments.schema import compile_schema
from gateway.errors import StartError
from gateway.importing import proposing as module
from gateway.importing.manifest import written
from gateway.importing.proposing import MAX_DESCRIPTION, Wishes, prefix_of, propose, reasons_of
from gateway.registry.manifest import ToolRow

TEXT = {"type": "string"}
CREATE = body(
    {"type": "object", "properties": {"text": TEXT}, "required": ["text"]},
    operationId="createNote",
    summary="Create a note",
    description="Writes a **note**. Its `text` is `required`.",
    tags=["Notes", "Très / Odd"],
)


def test_a_tool_is_complete_but_for_a_persons_look() -> None:
    """Every guess is marked."""
    (tool,) = proposed(document({"/notes": {"post": CREATE}})).tools
    assert tool.row == {
        "name": "notes_create_note",
        "title": "Create a note",
        "description": "Create a note. Writes a note. Its `text` is required.",
        "side_effect": "write",
        "idempotency": "optional",
        "risk": "medium",
        "requires": ["notes:write"],
        "groups": ["notes.notes", "notes.tr_s_odd"],
        "disposition": "optional",
        "surfaces": ["grpc"],
        "trust": "untrusted",
        "timeout_ms": 30_000,
        "binding": {
            "adapter": "http_api",
            "operation": "request",
            "connection": "notes",
            "options": {
                "method": "POST",
                "path": "/notes",
                "body": {"type": "json", "fields": {"text": {"argument": "/text"}}},
                "answer": {"type": "none"},
            },
        },
        "input_schema": {
            "type": "object",
            "properties": {"text": TEXT},
            "required": ["text"],
            "additionalProperties": False,
        },
    }
    assert set(tool.reviews) == {"side_effect", "risk"}
    ToolRow.model_validate(tool.row)


@pytest.mark.parametrize(
    ("method", "effect", "risk", "scope"),
    [
        ("get", "read", "low", "notes:read"),
        ("head", "read", "low", "notes:read"),
        ("post", "write", "medium", "notes:write"),
        ("put", "write", "medium", "notes:write"),
        ("patch", "write", "medium", "notes:write"),
        ("delete", "write", "high", "notes:write"),
    ],
)
def test_what_a_call_does_is_guessed_from_the_method(method: str, effect: str, risk: str, scope: str) -> None:
    """A write without a key gets one derived; that twice is as good as once is for a person to say."""
    row = row_of(answered(), method=method)
    assert (row["side_effect"], row["risk"], row["requires"]) == (effect, risk, [scope])
    assert row.get("idempotency") == (None if effect == "read" else "optional")


@pytest.mark.parametrize(
    ("words", "title", "description"),
    [
        ({}, "notes find", "POST /notes"),
        ({"summary": "Find."}, "Find.", "Find."),
        ({"description": "Finds notes."}, "notes find", "Finds notes."),
        ({"summary": "Find notes", "description": "Find notes by text."}, "Find notes", "Find notes by text."),
        ({"summary": "Find", "description": "By text."}, "Find", "Find. By text."),
        ({"summary": 5, "description": ["x"]}, "notes find", "POST /notes"),
    ],
)
def test_words_are_the_summary_and_the_description(words: Any, title: str, description: str) -> None:
    """Said once; method and path when there are none."""
    row = row_of({**answered(), "operationId": "notes/find", **words})
    assert (row["title"], row["description"]) == (title, description)
    assert len(row_of({**answered(), "description": "Long. " * 900})["description"]) <= MAX_DESCRIPTION


def test_a_deprecated_operation_is_marked() -> None:
    """And proposed all the same."""
    (tool,) = proposed(document({"/notes": {"post": {**CREATE, "deprecated": True}}})).tools
    assert "deprecated" in tool.reviews["name"]


def test_the_same_document_gives_the_same_rows_and_a_choice_changes_no_name() -> None:
    """Nor does an operation that is added in front."""
    paths = {"/notes": {"post": CREATE, "get": {**answered(), "operationId": "x" * 90}}}
    whole = proposed(document(paths))
    assert written(whole, source="f") == written(proposed(copy.deepcopy(document(paths))), source="f")
    names = [tool.row["name"] for tool in whole.tools]
    more = proposed(document({"/a": {"get": {**answered(), "operationId": "x" * 89}}, **paths}))
    assert set(names) < {tool.row["name"] for tool in more.tools}
    assert [tool.row["name"] for tool in proposed(document(paths), only=("tag:notes",)).tools] == ["notes_create_note"]


def test_the_prefix_is_the_connections_or_what_is_asked_for() -> None:
    """Nothing at all as well."""
    whole = document({"/notes": {"post": CREATE}})
    for prefix, name in ((None, "notes_create_note"), ("crm", "crm_create_note"), ("", "create_note")):
        assert [tool.row["name"] for tool in proposed(whole, prefix=prefix).tools] == [name]
    assert prefix_of("My.Service-" + "x" * 80) == "my_service_" + "x" * 19


def test_what_is_skipped_is_counted_by_its_reason() -> None:
    """The most frequent first."""
    paths = {f"/{number}": {"get": answered(status="302")} for number in range(3)} | {"/x": {"trace": answered()}}
    proposal = proposed(document(paths))
    assert reasons_of(proposal.skipped) == [("its answer is a redirect", 3), ("TRACE is not offered", 1)]
    assert [one.operation for one in proposal.skipped][-1] == "TRACE /x"


def test_what_the_registry_refuses_is_not_proposed() -> None:
    """And progress is told."""
    told: list[tuple[int, int]] = []
    proposal = propose(
        document({"/notes": {"post": CREATE, "get": answered()}}),
        Wishes(connection="notes", tenant="acme"),
        compile_schema=compile_schema,
        refusal=lambda row: "no reads" if row["side_effect"] == "read" else "",
        tell=lambda done, total: told.append((done, total)),
    )
    assert [one.reason for one in proposal.skipped] == ["the registry would refuse it: no reads"]
    assert told == [(0, 2), (1, 2)]


def test_rows_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before they are more than any manifest may have."""
    monkeypatch.setattr(module, "MAX_ROWS", 2000)
    with pytest.raises(StartError, match="--only"):
        proposed(document({f"/{number}": {"post": CREATE} for number in range(10)}))


KEYS = ("$ref", "type", "allOf", "oneOf", "properties", "items", "required", "enum", "default", "content", "schema")
KEYS += ("name", "in", "nullable", "readOnly", "application/json", "200", "additionalProperties", "description")
PLAIN = st.integers(-(2**63), 2**63) | st.text(max_size=5) | st.sampled_from(["object", "array", "#/paths", "x"])
JUNK = st.recursive(
    st.none() | st.booleans() | PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(schema=JUNK, parameters=JUNK, responses=JUNK, word=JUNK)
def test_no_document_makes_it_fail(schema: Any, parameters: Any, responses: Any, word: Any) -> None:
    """Whatever stands where something else should, an operation is proposed soundly or skipped."""
    operation = {
        "operationId": word,
        "summary": word,
        "tags": word,
        "deprecated": word,
        "security": word,
        "parameters": [parameter("a", schema=schema), parameters],
        "requestBody": {"content": {"application/json": {"schema": schema}}},
        "responses": responses,
    }
    for parts in (operation, {**operation, "parameters": [parameter("a", schema=schema)]}):
        whole = document({"/a": {"post": parts, "parameters": word}}, version="3.0.0", securitySchemes=word)
        for tool in proposed(whole).tools:
            ToolRow.model_validate(tool.row)
            compile_schema(tool.row["input_schema"])
