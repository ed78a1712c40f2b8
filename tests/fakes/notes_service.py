"""A small service with state, and the OpenAPI document that its authors wrote of it: notes of customers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml
from aiohttp import web

TOKEN = "notes-7d41c09b2a"

DOCUMENT = """\
openapi: 3.1.0
info: {title: Notes, version: "1.4"}
servers:
  - url: https://notes.example.com/api
security:
  - token: []
paths:
  /notes:
    get:
      operationId: listNotes
      summary: List notes
      description: Lists notes, the newest first. Give `tag` to see **only** those with one of the tags.
      tags: [notes]
      parameters:
        - {$ref: "#/components/parameters/Limit"}
        - {name: tag, in: query, schema: {type: array, items: {type: string}}}
      responses:
        200: {description: Some notes., content: {application/json: {schema: {$ref: "#/components/schemas/Page"}}}}
    post:
      operationId: createNote
      summary: Write a note
      tags: [notes]
      parameters:
        - {name: Idempotency-Key, in: header, schema: {type: string}}
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: "#/components/schemas/NewNote"}}}
      responses:
        201: {description: The note., content: {application/json: {schema: {$ref: "#/components/schemas/Note"}}}}
  /notes/search:
    post:
      operationId: searchNotes
      summary: Search notes by their text
      tags: [notes]
      requestBody:
        required: true
        content:
          application/json:
            schema: {type: object, properties: {text: {type: string, minLength: 2}}, required: [text]}
      responses:
        200: {description: Some notes., content: {application/json: {schema: {$ref: "#/components/schemas/Page"}}}}
  /notes/{note-id}:
    parameters:
      - {name: note-id, in: path, required: true, schema: {type: string}}
    get:
      operationId: getNote
      summary: Read a note
      tags: [notes]
      responses:
        200: {description: The note., content: {application/json: {schema: {$ref: "#/components/schemas/Note"}}}}
    patch:
      operationId: updateNote
      summary: Change a note
      tags: [notes]
      requestBody:
        required: true
        content:
          application/merge-patch+json:
            schema: {type: object, properties: {text: {type: string}, author: {type: [string, "null"]}}}
      responses:
        200: {description: The note., content: {application/json: {schema: {$ref: "#/components/schemas/Note"}}}}
    delete:
      operationId: deleteNote
      summary: Delete a note
      tags: [notes]
      responses:
        204: {description: It is gone.}
  /notes/{note-id}/attachment:
    put:
      operationId: attach
      parameters:
        - {name: note-id, in: path, required: true, schema: {type: string}}
      requestBody:
        required: true
        content: {multipart/form-data: {schema: {type: object, properties: {file: {type: string, format: binary}}}}}
      responses:
        204: {description: It is there.}
components:
  securitySchemes:
    token: {type: apiKey, in: header, name: X-Notes-Token}
  parameters:
    Limit: {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 100, default: 20}}
  schemas:
    NewNote:
      type: object
      required: [text]
      properties:
        text: {type: string, minLength: 1, description: What it says.}
        author: {type: [string, "null"]}
        tags: {type: array, items: {type: string}}
        replies: {type: array, items: {$ref: "#/components/schemas/NewNote"}}
        extra: {type: object}
    Note:
      allOf:
        - {$ref: "#/components/schemas/NewNote"}
        - type: object
          required: [id, created_at]
          properties:
            id: {type: string, readOnly: true}
            created_at: {type: string, format: date-time, readOnly: true}
    Page:
      type: object
      properties:
        notes: {type: array, items: {$ref: "#/components/schemas/Note"}}
"""


def document() -> dict[str, Any]:
    """The document."""
    found: dict[str, Any] = yaml.safe_load(DOCUMENT)
    return found


@dataclass
class NotesService:
    """It takes the token in `X-Notes-Token`, and a key of one's own makes a note once."""

    notes: dict[str, dict[str, Any]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    """The note that each key made."""
    content_types: list[str] = field(default_factory=list)
    port: int = 0

    def app(self) -> web.Application:
        """The service."""
        app = web.Application(middlewares=[_checked])
        app.router.add_get("/api/notes", self._list)
        app.router.add_post("/api/notes", self._create)
        app.router.add_post("/api/notes/search", self._search)
        app.router.add_get("/api/notes/{id}", self._get)
        app.router.add_patch("/api/notes/{id}", self._update)
        app.router.add_delete("/api/notes/{id}", self._delete)
        return app

    def add(self, **parts: Any) -> dict[str, Any]:
        """One more note."""
        note = {"id": f"n/{len(self.notes) + 1}", "created_at": None, **parts}  # null: services lie about their answers
        self.notes[note["id"]] = note
        return note

    async def _list(self, request: web.Request) -> web.Response:
        tags = set(request.query.getall("tag", []))
        found = [note for note in self.notes.values() if not tags or tags & set(note.get("tags", ()))]
        return web.json_response({"notes": found[::-1][: int(request.query["limit"])]})

    async def _create(self, request: web.Request) -> web.Response:
        key = request.headers["Idempotency-Key"]
        if key not in self.keys:
            self.keys[key] = self.add(**await request.json())["id"]
        return web.json_response(self.notes[self.keys[key]], status=201)

    async def _search(self, request: web.Request) -> web.Response:
        text = (await request.json())["text"]
        return web.json_response({"notes": [note for note in self.notes.values() if text in note["text"]]})

    async def _get(self, request: web.Request) -> web.Response:
        return web.json_response(self._find(request))

    async def _update(self, request: web.Request) -> web.Response:
        self.content_types.append(request.content_type)
        note = self._find(request)
        note.update(await request.json())
        return web.json_response(note)

    async def _delete(self, request: web.Request) -> web.Response:
        del self.notes[self._find(request)["id"]]
        return web.Response(status=204)

    def _find(self, request: web.Request) -> dict[str, Any]:
        note = self.notes.get(request.match_info["id"])
        if note is None:
            raise web.HTTPNotFound
        return note


@web.middleware
async def _checked(request: web.Request, handler: Any) -> web.StreamResponse:
    if request.headers.get("X-Notes-Token") != TOKEN:
        raise web.HTTPUnauthorized
    response: web.StreamResponse = await handler(request)
    return response


@asynccontextmanager
async def notes_service() -> AsyncIterator[NotesService]:
    """The service, on a free port of loopback."""
    service = NotesService()
    runner = web.AppRunner(service.app())
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        service.port = runner.addresses[0][1]
        yield service
    finally:
        await runner.cleanup()
