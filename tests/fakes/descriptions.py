"""OpenAPI documents for tests, and what is proposed of them."""

from collections.abc import Mapping
from typing import Any

import orjson

from gateway.arguments.schema import compile_schema
from gateway.importing.proposing import Proposal, Wishes, propose
from gateway.importing.reading import description_of

Json = dict[str, Any]

URL = "https://notes.example.com/api"


def document(paths: Json, *, version: str = "3.1.0", **components: Any) -> Json:
    """A document with these paths and components."""
    return {
        "openapi": version,
        "info": {"title": "Notes Service", "version": "1"},
        "servers": [{"url": URL}],
        "paths": paths,
        "components": components,
    }


def body(schema: Any, *, kind: str = "application/json", required: bool = True, **more: Any) -> Json:
    """An operation with this body."""
    return {"requestBody": {"required": required, "content": {kind: {"schema": schema}}}, **answered(), **more}


def answered(schema: Any = None, status: str = "200") -> Json:
    """What an operation says of its answer: nothing comes when there is no schema."""
    content = {} if schema is None else {"content": {"application/json": {"schema": schema}}}
    return {"responses": {status: {"description": "Done.", **content}}}


def parameter(name: str, where: str = "query", **more: Any) -> Json:
    """A parameter; a text unless its schema says otherwise."""
    required = {"required": True} if where == "path" else {}
    return {"name": name, "in": where, "schema": {"type": "string"}, **required, **more}


def proposed(described: Mapping[str, Any], **wishes: Any) -> Proposal:
    """What is proposed of a document, read as a file would be. The registry is not asked."""
    whole = description_of(orjson.dumps(described), "notes.json")
    usual = {"connection": "notes", "tenant": "acme"}
    return propose(whole, Wishes(**{**usual, **wishes}), compile_schema=compile_schema, refusal=lambda _row: "")


def row_of(operation: Json, *, path: str = "/notes", method: str = "post", **components: Any) -> Json:
    """The one tool's row of a document with one operation."""
    proposal = proposed(document({path: {method: operation}}, **components))
    assert [one.reason for one in proposal.skipped] == []
    row: Json = proposal.tools[0].row
    return row


def reason_of(operation: Json, *, path: str = "/notes", method: str = "post", **components: Any) -> str:
    """Why the one operation of a document is skipped."""
    proposal = proposed(document({path: {method: operation}}, **components))
    assert not proposal.tools
    return str(proposal.skipped[0].reason)
