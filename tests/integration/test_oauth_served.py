"""A whole gateway with an OAuth connection: the agent's call goes out with an access token, what the vendor gives in
the refresh token's place outlives the gateway, and nothing of either is in a result or a line.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.cases.calendar import WINDOW, event, page
from fakes.served import identity, lines_in, served, socket_listener
from fakes.vendor import Asked, Said, VendorServer, vendor_server

from gateway.settings.parts import CredentialGrant, NetworkSettings
from gateway.v1 import codes_pb2

TOOL = "calendar_list_events"
REFERENCE = "env:CALENDAR_OAUTH"


class Google:
    """Takes every refresh token back by its use, and quotes whoever asks."""

    def __init__(self) -> None:
        self.good = "refresh-0-of-acme"
        self.used: list[str] = []
        self.seen: list[str] = []

    def answer(self, asked: Asked) -> Said:
        """As the API and as the token endpoint."""
        if asked.path == "/token":
            return self._granted(asked.form["refresh_token"])
        self.seen.append(asked.headers["Authorization"])
        return Said(page(event(summary=f"You are {asked.headers['Authorization']}")))

    def _granted(self, shown: str) -> Said:
        if shown != self.good:
            return Said({"error": "invalid_grant"}, status=400)
        self.used.append(shown)
        self.good = f"refresh-{len(self.used)}-of-acme"
        return Said({"access_token": f"access-{len(self.used)}-of-acme", "expires_in": 30, "refresh_token": self.good})


def rows(server: VendorServer) -> dict[str, Any]:
    """The adapter's own row of one tool, a connection, and the agent."""
    every = yaml.safe_load(files("adapters.calendar").joinpath("tools.yaml").read_text("utf-8"))["tools"]
    (tool,) = (row for row in every if row["name"] == TOOL)
    connection = {
        "name": "calendar",
        "tenant": "acme",
        "vendor": "calendar",
        "hosts": [f"127.0.0.1:{server.port}"],
        "credential": REFERENCE,
        "scopes": tool["requires"],
        "options": {"base_url": f"{server.url}/calendar/v3", "token_url": f"{server.url}/token"},
    }
    agent = {"name": "helper", "tenant": "acme", "tools": [TOOL], "scopes": tool["requires"], "roles": ["assistant"]}
    return {"tools": [tool], "connections": [connection], "agents": [agent]}


def gateway(folder: Path, server: VendorServer) -> Any:
    """One that may ask this server."""
    host = f"127.0.0.1:{server.port}"
    every = rows(server)
    listener = socket_listener(folder, identity=identity(scopes=tuple(every["agents"][0]["scopes"])))
    return served(
        folder,
        rows=every,
        listeners=(listener,),
        network=NetworkSettings(private_targets=(host,)),
        credentials=(CredentialGrant(tenant="acme", references=(REFERENCE,), hosts=(host,)),),
    )


async def test_a_rotated_refresh_token_outlives_the_gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable holds the first one for ever; the store knows the last."""
    google = Google()
    first = {"client_id": "client-of-acme", "client_secret": "secret-of-acme", "refresh_token": google.good}
    monkeypatch.setenv("CALENDAR_OAUTH", json.dumps(first))
    async with vendor_server(google.answer) as server:
        for start in range(2):
            async with gateway(tmp_path, server) as one:
                for _ in range(2):  # a token of thirty seconds is never good for a minute more
                    said = await one.call(TOOL, json.dumps(WINDOW))
                    assert said.HasField("result"), said
                    assert "You are" in said.result.structured_json.decode()
                    assert "of-acme" not in str(said)
            assert len(google.used) == 2 * (start + 1)
        async with gateway(tmp_path, server) as one:
            google.good = "taken away"
            said = await one.call(TOOL, json.dumps(WINDOW))
        assert said.error.code == codes_pb2.CODE_PRECONDITION_FAILED
        assert said.error.reason == codes_pb2.REASON_CONNECTION_NEEDS_AUTHORISATION
    assert google.used == [f"refresh-{number}-of-acme" for number in range(4)]
    assert google.seen == [f"Bearer access-{number}-of-acme" for number in range(1, 5)]
    assert "of-acme" not in json.dumps(lines_in(tmp_path))
    state = b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file())
    assert b"-of-acme" not in state
