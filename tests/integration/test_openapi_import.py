"""A service's own OpenAPI document becomes rows, a person fills in what is missing, and an agent uses the service."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fakes.notes_service import DOCUMENT, TOKEN, NotesService, notes_service
from fakes.served import Served, identity, served, socket_listener

from gateway.cli.root import run
from gateway.documents import read_document
from gateway.settings.parts import CredentialGrant, NetworkSettings
from gateway.v1 import codes_pb2

SCOPES = ("notes:read", "notes:write")


def imported(folder: Path, service: NotesService) -> dict[str, Any]:
    """The rows that the command proposes, read back as the registry reads them."""
    source, out = folder / "notes.openapi.yaml", folder / "notes.yaml"
    source.write_text(DOCUMENT)
    url = f"http://127.0.0.1:{service.port}/api"
    wishes = ["--tenant", "acme", "--connection", "notes", "--base-url", url, "--out", str(out)]
    assert run(["registry", "import", "openapi", str(source), *wishes]) == 0
    rows: dict[str, Any] = read_document(out).value
    return rows


def edited(rows: dict[str, Any]) -> dict[str, Any]:
    """What a person makes of them: a credential, a POST that only reads, and an agent who has them."""
    (connection,) = rows["connections"]
    connection["credential"] = "env:NOTES_TOKEN"
    for tool in rows["tools"]:
        if tool["name"] == "notes_search_notes":
            tool |= {"side_effect": "read", "requires": ["notes:read"]}
            del tool["idempotency"]
    names = [tool["name"] for tool in rows["tools"]]
    agent = {"name": "helper", "tenant": "acme", "tools": names, "scopes": list(SCOPES), "roles": ["assistant"]}
    return {**rows, "agents": [agent]}


@asynccontextmanager
async def gateway(folder: Path, service: NotesService) -> AsyncIterator[Served]:
    """A gateway whose rows were imported."""
    here = f"127.0.0.1:{service.port}"
    parts: dict[str, Any] = {
        "rows": edited(imported(folder, service)),
        "listeners": (socket_listener(folder, identity=identity(scopes=SCOPES)),),
        "network": NetworkSettings(private_targets=(here,)),
        "credentials": (CredentialGrant(tenant="acme", references=("env:NOTES_TOKEN",), hosts=(here,)),),
    }
    async with served(folder, **parts) as one:
        yield one


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES_TOKEN", TOKEN)


async def result(one: Served, tool: str, arguments: dict[str, Any], key: str = "") -> Any:
    """What the tool brings back."""
    response = await one.call(tool, json.dumps(arguments), key=key)
    assert response.WhichOneof("outcome") == "result", response
    return json.loads(response.result.structured_json)


async def test_an_imported_service_is_used_by_an_agent(tmp_path: Path) -> None:
    """Write, list, search, read, change and delete; of what the service says nothing is refused for being a lie."""
    async with notes_service() as service, gateway(tmp_path, service) as one:
        made = await result(one, "notes_create_note", {"text": "Call back", "tags": ["a"], "replies": [{"text": "ok"}]})
        assert made == service.notes["n/1"]
        service.add(text="Other", tags=["b"])
        listed = await result(one, "notes_list_notes", {"tag": ["b", "c"]})
        assert [note["text"] for note in listed["notes"]] == ["Other"]
        assert await result(one, "notes_search_notes", {"text": "back"}) == {"notes": [made]}
        assert (await result(one, "notes_get_note", {"note_id": "n/1"}))["text"] == "Call back"
        changed = await result(one, "notes_update_note", {"note_id": "n/1", "author": None})
        assert changed["author"] is None
        assert service.content_types == ["application/merge-patch+json"]
        assert await result(one, "notes_delete_note", {"note_id": "n/1"}) == {}
        assert list(service.notes) == ["n/2"]


async def test_a_write_with_one_key_happens_once(tmp_path: Path) -> None:
    """The key that the service takes is the gateway's own."""
    async with notes_service() as service, gateway(tmp_path, service) as one:
        first = await result(one, "notes_create_note", {"text": "Once"}, key="k")
        second = await result(one, "notes_create_note", {"text": "Once"}, key="k")
        assert first == second
        assert len(service.notes) == len(service.keys) == 1


async def test_what_the_document_does_not_describe_does_not_go_through(tmp_path: Path) -> None:
    """Nothing is sent, and the agent is told which field; a note that is not there is not found."""
    async with notes_service() as service, gateway(tmp_path, service) as one:
        for arguments in ({"text": "x", "more": 1}, {"text": ""}, {"text": "x", "replies": [{"extra": {}}]}):
            response = await one.call("notes_create_note", json.dumps(arguments), key="k")
            assert response.error.code == codes_pb2.CODE_VALIDATION_FAILED
        assert service.notes == {}
        missing = await one.call("notes_get_note", json.dumps({"note_id": "n/9"}))
        assert missing.error.code == codes_pb2.CODE_NOT_FOUND
