"""GitHub, as a whole."""

from typing import Any

import pytest
from fakes.cases.github import PLACE, issue
from fakes.clock import FakeClock
from fakes.vendor import Said, desk, saying, vendor_server

from adapters.base import AdapterError, ErrorKind, SideEffect, Target
from adapters.github.adapter import GitHubAdapter
from adapters.installed import build_adapters

SEARCH = {"repositories": ["acme/site"], "text": "cart"}
USED_UP = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767226200", "X-RateLimit-Resource": "search"}


def adapter() -> GitHubAdapter:
    """The installed one."""
    found = build_adapters(FakeClock())["github"]
    assert isinstance(found, GitHubAdapter)
    return found


def problems(*hosts: str, **options: Any) -> list[str]:
    """What is wrong with a connection."""
    return adapter().check_target(Target(name="c", hosts=hosts, options=options))


def test_every_effect_can_be_found_out() -> None:
    """And none has a key of GitHub's: it takes none."""
    operations = adapter().operations.values()
    assert len(operations) == 11
    for operation in operations:
        assert operation.needs_credential
        assert not operation.has_native_key
        assert (operation.reconcile is None) is (operation.side_effect is SideEffect.READ)
    assert {one.name for one in operations if one.preview} == {"commit_files", "request_review"}


def test_a_connection_goes_to_github_or_to_a_server_of_ones_own() -> None:
    """Its host must be named: the credential goes there."""
    assert problems("api.github.com") == []
    assert problems("ghe.corp.example", base_url="https://ghe.corp.example/api/v3") == []
    assert problems("api.github.com", app_id=1, installation_id=2) == []
    assert len(problems("ghe.corp.example")) == 1
    assert len(problems("api.github.com", app_id=1)) == 1
    assert len(problems("api.github.com", token="x")) == 1
    assert len(problems("ghe.corp.example", base_url="http://ghe.corp.example/api/v3")) == 1


async def test_a_request_says_what_it_wants_and_in_which_version() -> None:
    """Below the path of a server of one's own."""
    async with vendor_server(Said(issue())) as server, desk(server, path="/api/v3") as at:
        await at.ask("github", "get_issue", {**PLACE, "number": 7})
    (asked,) = server.asked
    assert asked.path == "/api/v3/repos/acme/site/issues/7"
    assert asked.headers["Accept"] == "application/vnd.github+json"
    assert asked.headers["X-GitHub-Api-Version"] == "2022-11-28"
    assert asked.headers["Authorization"] == f"Bearer {at.credential}"


async def test_a_limit_of_searches_leaves_everything_else_alone() -> None:
    """GitHub counts them apart."""
    found = Said({"total_count": 0, "items": []}, headers=USED_UP)
    async with vendor_server(saying(found, Said(issue()))) as server, desk(server) as at:
        await at.ask("github", "search_issues", SEARCH)
        with pytest.raises(AdapterError) as caught:
            await at.ask("github", "search_issues", SEARCH)
        await at.ask("github", "get_issue", {**PLACE, "number": 7})
    assert (caught.value.kind, caught.value.retry_after_seconds) == (ErrorKind.RATE_LIMITED, 600.0)
    assert len(server.asked) == 2


async def test_a_secondary_limit_holds_everything_back() -> None:
    """It is the account that asked too much."""
    limited = Said({"message": "You have exceeded a secondary rate limit."}, status=403)
    async with vendor_server(limited) as server, desk(server) as at:
        for operation, arguments in (("search_issues", SEARCH), ("get_issue", {**PLACE, "number": 7})):
            with pytest.raises(AdapterError) as caught:
                await at.ask("github", operation, arguments)
            assert caught.value.kind is ErrorKind.RATE_LIMITED
    assert len(server.asked) == 1
