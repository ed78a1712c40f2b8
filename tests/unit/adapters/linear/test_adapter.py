"""Linear."""

import json
from importlib.resources import files
from typing import Any

import pytest
import yaml
from fakes.cases.linear import TEAM, data, errors, page
from fakes.vendor import Asked, Said, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, SideEffect, Target
from adapters.installed import build_adapters
from gateway.clock import SystemClock

OAUTH = json.dumps({"client_id": "i", "client_secret": "s3cr3t-of-app", "refresh_token": "r3fr3sh"})


@pytest.mark.parametrize(
    ("credential", "header"),
    [("lin_api_0123456789", "lin_api_0123456789"), ("lin_oauth_0123456789", "Bearer lin_oauth_0123456789")],
)
async def test_a_key_goes_as_it_stands_and_an_access_token_as_a_bearers(credential: str, header: str) -> None:
    """By what it begins with."""
    async with vendor_server(data(teams=page())) as server, desk(server, credential=credential) as at:
        await at.ask("linear", "list_teams", {})
        assert server.asked[0].headers["Authorization"] == header


async def test_an_access_token_is_renewed_when_linear_refuses_it_inside_of_a_200() -> None:
    """And what was asked is asked once more, a write too: it certainly did nothing."""
    given: list[str] = []

    def answer(asked: Asked) -> Said:
        if asked.path == "/oauth/token":
            given.append(asked.form["refresh_token"])
            return Said({"access_token": f"token-{len(given)}", "expires_in": 86_399})
        if asked.headers["Authorization"] == "Bearer token-1":
            return errors("AUTHENTICATION_ERROR")
        return data(issueCreate={"success": True, "issue": {"id": "x"}})

    async with vendor_server(answer) as server:
        options = {"token_url": f"{server.url}/oauth/token"}
        async with desk(server, credential=OAUTH, options=options) as at:
            output = await at.ask("linear", "create_issue", {"team_id": TEAM, "title": "Broken"})
        learned = at.learned
    assert output.structured["id"] == "x"
    assert given == ["r3fr3sh", "r3fr3sh"]
    assert {"s3cr3t-of-app", "r3fr3sh", "token-1", "token-2"} <= set(learned)


async def test_a_credential_that_is_no_oauth_credential_needs_a_person() -> None:
    """Although it looks like one."""
    async with vendor_server(data(teams=page())) as server, desk(server, credential='{"a": 1}') as at:
        with pytest.raises(AdapterError) as caught:
            await at.ask("linear", "list_teams", {})
        assert not server.asked
    assert caught.value.kind is ErrorKind.NEEDS_AUTHORISATION


def _problems(**options: Any) -> list[str]:
    adapter = build_adapters(SystemClock())["linear"]
    return adapter.check_target(Target(name="linear", hosts=("api.linear.app",), options=options))


def test_a_connection_needs_its_host_and_nothing_else() -> None:
    """The vendor's own places are known."""
    assert _problems() == []
    assert build_adapters(SystemClock())["linear"].check_target(Target(name="linear")) != []


@pytest.mark.parametrize(
    "options",
    [{"token_url": "http://api.linear.app/oauth/token"}, {"token_url": "https://evil.test/"}, {"token": "x"}],
)
def test_a_place_that_a_secret_must_not_go_to_is_told(options: dict[str, Any]) -> None:
    """As is an option that nobody knows."""
    assert _problems(**options)


def test_operations_are_what_they_say() -> None:
    """No write may be repeated by itself, and each can be asked about afterwards; a change can be shown before."""
    operations = build_adapters(SystemClock())["linear"].operations
    writes = {name for name, one in operations.items() if one.side_effect is not SideEffect.READ}
    assert writes == {"create_issue", "update_issue", "comment_on_issue"}
    assert all(operations[name].reconcile is not None for name in writes)
    assert not any(one.has_native_key for one in operations.values())
    assert [name for name, one in operations.items() if one.preview is not None] == ["update_issue"]
    assert all(one.needs_credential for one in operations.values())


def test_no_row_trusts_an_address() -> None:
    """Linear writes an issue's title into it, and strangers write titles."""
    for row in yaml.safe_load(files("adapters.linear").joinpath("tools.yaml").read_text("utf-8"))["tools"]:
        assert row["trust"] == "untrusted"
        assert not [pointer for pointer in row["field_trust"] if pointer.endswith(("/url", "/title", "/name"))]
