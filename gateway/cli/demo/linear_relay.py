"""Between our adapter and `emulate`, whose Linear knows less of Linear's schema than Linear, for the demo and tests.

What the imitation lacks is taken out on the way, and nothing else is changed: fields of answers, and the ids that
whoever makes an issue or a comment gives it. The relay remembers which id the imitation gave in their place.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

LACKS: Mapping[str, tuple[str, ...]] = {
    "ListTeams": ("members(first: 50) { nodes { id name email } }",),
    "ProjectFields": ("url", "startDate", "targetDate", "status { name type }", "lead { id name }"),
    "CycleFields": ("progress",),
    "CreateComment": ("url",),
    "ReadComment": ("url",),
}
"""By operation and fragment: lines of our documents."""
_SECTION = re.compile(r"^(?=(?:query|mutation|fragment) )", re.MULTILINE)
_MADE = {"issueCreate": "issue", "commentCreate": "comment"}


@dataclass
class LinearRelay:
    """`url` is the imitation's."""

    url: str
    port: int = 0
    ids: dict[str, str] = field(default_factory=dict)
    """Ours, and what the imitation gave instead."""

    async def handle(self, request: web.Request) -> web.Response:
        """What aiohttp calls."""
        asked = await request.json()
        variables = {**asked.get("variables", {})}
        ours = variables.get("input", {}).get("id")
        if "input" in variables:
            variables["input"] = {name: value for name, value in variables["input"].items() if name != "id"}
        if "id" in variables:
            variables["id"] = self.ids.get(variables["id"], variables["id"])
        body = {**asked, "query": without(asked["query"]), "variables": variables}
        headers = {"Authorization": request.headers["Authorization"]}
        async with aiohttp.request("POST", f"{self.url}{request.path}", json=body, headers=headers) as answer:
            said = await answer.read()
        self._remember(ours, said)
        return web.Response(body=said, status=answer.status, content_type="application/json")

    async def pass_on(self, request: web.Request) -> web.Response:
        """What is no GraphQL, as it stands."""
        headers = {"Content-Type": request.headers["Content-Type"]}
        url = f"{self.url}{request.path}"
        async with aiohttp.request("POST", url, data=await request.read(), headers=headers) as answer:
            return web.Response(body=await answer.read(), status=answer.status, content_type=answer.content_type)

    def _remember(self, ours: str | None, said: bytes) -> None:
        data = json.loads(said).get("data") or {}
        for root, entity in _MADE.items():
            if ours is not None and data.get(root):
                self.ids[ours] = data[root][entity]["id"]


def without(document: str) -> str:
    """The document without what the imitation lacks."""
    return "".join(_without(section) for section in _SECTION.split(document))


def _without(section: str) -> str:
    name = re.match(r"\w+ (\w+)", section)
    lacking = LACKS.get(name[1], ()) if name else ()
    return "\n".join(line for line in section.split("\n") if line.strip() not in lacking)


@asynccontextmanager
async def linear_relay(url: str) -> AsyncIterator[LinearRelay]:
    """A relay on loopback, before the imitation at this URL."""
    relay = LinearRelay(url)
    app = web.Application()
    app.router.add_post("/graphql", relay.handle)
    app.router.add_post("/oauth/token", relay.pass_on)
    runner = web.AppRunner(app, shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address: Any = runner.addresses[0]
    relay.port = address[1]
    try:
        yield relay
    finally:
        await runner.cleanup()
