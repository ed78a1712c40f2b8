"""Linear as `emulate` imitates it: what an operation did is there afterwards, for whoever asks.

The imitation knows no ids of whoever makes something and lacks some fields, which `fakes.linear_relay` takes out on the
way; what an agent is told of them is null.
"""

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from fakes.linear_relay import linear_relay
from fakes.vendor import Desk, desk
from real.emulate import TOKENS, Emulate

from adapters.base import AdapterError, ErrorKind, Finding, Happened

NOBODY = "00000000-0000-4000-8000-000000000000"
APP, APP_SECRET = "lin_example_client_id", "example_client_secret"
APP_BACK = "http://localhost:3000/api/auth/callback/linear"
"""The app that the imitation begins with."""


class Linear:
    """The adapter before the server, and the server itself for whoever looks at what became of it."""

    def __init__(self, at: Desk, url: str) -> None:
        self.at, self._url = at, url

    async def ask(self, operation: str, arguments: dict[str, Any], **more: Any) -> Any:
        """The structured output."""
        return (await self.at.ask("linear", operation, arguments, **more)).structured

    async def refused(self, operation: str, arguments: dict[str, Any]) -> AdapterError:
        """The error that it ends with."""
        with pytest.raises(AdapterError) as caught:
            await self.ask(operation, arguments)
        return caught.value

    async def itself(self, query: str) -> Any:
        """What the server says without the adapter."""
        headers, body = {"Authorization": TOKENS["linear"]}, {"query": query}
        async with aiohttp.request("POST", f"{self._url}/graphql", headers=headers, json=body) as response:
            assert response.status == 200, await response.text()
            return (await response.json())["data"]

    async def everything(self, operation: str, noun: str, arguments: dict[str, Any], *, limit: int = 1) -> list[Any]:
        """What is on all pages of a list, together."""
        page = await self.ask(operation, {**arguments, "limit": limit})
        found = list(page[noun])
        while page["next_cursor"] is not None:
            page = await self.ask(operation, {**arguments, "limit": limit, "cursor": page["next_cursor"]})
            found += page[noun]
        return found

    async def team(self, key: str = "ENG") -> Any:
        """One of the teams that it begins with."""
        teams = (await self.ask("list_teams", {}))["teams"]
        return next(team for team in teams if team["key"] == key)

    async def issue(self, title: str, **more: Any) -> Any:
        """A new issue of the engineers."""
        team = await self.team()
        return await self.ask("create_issue", {"team_id": team["id"], "title": title, **more}, effect_id=title)


@pytest.fixture
async def linear(emulate: Emulate) -> AsyncIterator[Linear]:
    """As somebody who may do everything."""
    url = emulate.url("linear")
    async with linear_relay(url) as relay, desk(relay.port, credential=TOKENS["linear"]) as at:
        yield Linear(at, url)


@pytest.mark.proves("linear", "create_issue", "success")
@pytest.mark.proves("linear", "get_issue", "success")
async def test_an_issue_that_was_created_is_there(linear: Linear) -> None:
    """With its text, its label and its state."""
    team = await linear.team()
    state, label = team["states"][0], team["labels"][0]
    arguments = {"description": "Every **time**.", "priority": 2, "state_id": state["id"], "label_ids": [label["id"]]}
    made = await linear.issue("It is broken", due_date="2026-02-01", **arguments)
    read = await linear.ask("get_issue", {"issue": made["identifier"]})
    assert (read["title"], read["description"], read["priority"]) == ("It is broken", "Every **time**.", "high")
    assert (read["state"], read["labels"], read["due_date"]) == (state, [label], "2026-02-01")
    written = await linear.itself(f'{{ issue(id: "{made["id"]}") {{ title team {{ key }} }} }}')
    assert written["issue"] == {"title": "It is broken", "team": {"key": "ENG"}}


@pytest.mark.proves("linear", "create_issue", "failure")
async def test_an_issue_of_a_team_that_is_not_there_is_not_created(linear: Linear) -> None:
    """Certain."""
    error = await linear.refused("create_issue", {"team_id": NOBODY, "title": "It is broken"})
    assert (error.kind, error.happened) == (ErrorKind.NOT_FOUND, Happened.NO)


async def test_what_was_created_is_found_by_whoever_does_not_know(linear: Linear) -> None:
    """Done for the effect that made it; not done for another, when the team is seen and time has passed."""
    made = await linear.issue("Made by one effect")
    arguments = {"team_id": made["team"]["id"], "title": "Made by one effect"}
    found = await linear.at.reconcile("linear", "create_issue", arguments, effect_id="Made by one effect")
    missing = await linear.at.reconcile("linear", "create_issue", arguments, effect_id="another", since=1.0)
    assert (found, missing) == (Finding.DONE, Finding.NOT_DONE)


@pytest.mark.proves("linear", "get_issue", "failure")
async def test_an_issue_that_is_not_there_is_not_found(linear: Linear) -> None:
    """By an id, and by an identifier."""
    for issue in (NOBODY, "ENG-99999"):
        assert (await linear.refused("get_issue", {"issue": issue})).kind is ErrorKind.NOT_FOUND


@pytest.mark.proves("linear", "update_issue", "success")
async def test_an_issue_that_was_changed_is_otherwise(linear: Linear) -> None:
    """What was not named stays; who approves sees before what would change."""
    made = await linear.issue("To be changed", description="Stays", priority=1)
    done = next(state for state in (await linear.team())["states"] if state["type"] == "completed")
    arguments = {"issue": made["identifier"], "title": "Changed", "state_id": done["id"], "priority": 4}
    operation = linear.at.adapters["linear"].operations["update_issue"]
    assert operation.preview is not None
    shown = await operation.preview(linear.at.invocation(operation.prepare(arguments)))
    assert (shown["was"]["title"], shown["will_be"]["title"]) == ("To be changed", "Changed")
    changed = await linear.ask("update_issue", arguments)
    assert (changed["title"], changed["state"], changed["priority"]) == ("Changed", done, "low")
    written = await linear.itself(f'{{ issue(id: "{made["id"]}") {{ title description priority }} }}')
    assert written["issue"] == {"title": "Changed", "description": "Stays", "priority": 4}
    assert await linear.at.reconcile("linear", "update_issue", arguments) is Finding.DONE


@pytest.mark.proves("linear", "update_issue", "failure")
async def test_an_issue_that_is_not_there_is_not_changed(linear: Linear) -> None:
    """Certain."""
    error = await linear.refused("update_issue", {"issue": "ENG-99999", "title": "Changed"})
    assert (error.kind, error.happened) == (ErrorKind.NOT_FOUND, Happened.NO)


@pytest.mark.proves("linear", "comment_on_issue", "success")
async def test_a_comment_that_was_written_is_there(linear: Linear) -> None:
    """Under the issue, and to be found by the effect."""
    made = await linear.issue("To be commented on")
    arguments = {"issue": made["identifier"], "body": "We are *on* it."}
    written = await linear.ask("comment_on_issue", arguments)
    assert (written["issue_id"], written["issue_identifier"]) == (made["id"], made["identifier"])
    (comment,) = (await linear.ask("get_issue", {"issue": made["id"]}))["comments"]
    assert (comment["id"], comment["body"], comment["author"]["name"]) == (written["id"], "We are *on* it.", "Admin")
    assert await linear.at.reconcile("linear", "comment_on_issue", arguments) is Finding.DONE


@pytest.mark.proves("linear", "comment_on_issue", "failure")
async def test_an_issue_that_is_not_there_is_not_commented_on(linear: Linear) -> None:
    """Certain."""
    error = await linear.refused("comment_on_issue", {"issue": NOBODY, "body": "Hello"})
    assert (error.kind, error.happened) == (ErrorKind.NOT_FOUND, Happened.NO)


@pytest.mark.proves("linear", "search_issues", "success")
@pytest.mark.proves("linear", "search_issues", "paging")
async def test_a_search_goes_on_from_page_to_page(linear: Linear) -> None:
    """Until there are no more, each issue once."""
    seen = [issue["title"] for issue in await linear.everything("search_issues", "issues", {}, limit=2)]
    assert {"The checkout fails", "The cart forgets", "A customer waits"} <= set(seen)
    written = await linear.itself("{ issues(first: 100) { nodes { title } } }")
    assert sorted(seen) == sorted(node["title"] for node in written["issues"]["nodes"])


@pytest.mark.proves("linear", "search_issues", "failure")
async def test_a_search_that_the_server_does_not_take_is_told_so(linear: Linear) -> None:
    """The imitation knows no search for words, and refuses it as Linear refuses what is not in its schema."""
    assert (await linear.refused("search_issues", {"text": "checkout"})).kind is ErrorKind.INVALID


@pytest.mark.proves("linear", "list_teams", "success")
@pytest.mark.proves("linear", "list_teams", "paging")
async def test_teams_are_listed_with_their_states(linear: Linear) -> None:
    """One on each page."""
    teams = {team["key"]: team for team in await linear.everything("list_teams", "teams", {})}
    assert {"ENG", "SUP"} <= teams.keys()
    assert {"unstarted", "completed"} <= {state["type"] for state in teams["SUP"]["states"]}


@pytest.mark.proves("linear", "list_teams", "failure")
async def test_an_account_is_renewed_until_its_owner_takes_it_back(emulate: Emulate) -> None:
    """By a refresh token that is good for once: what has to be kept of the first answer renews it the next time."""
    url = emulate.url("linear")
    given = json.dumps({"client_id": APP, "client_secret": APP_SECRET, "refresh_token": await _agreed(url)})
    async with linear_relay(url) as relay:
        options = {"token_url": f"http://127.0.0.1:{relay.port}/oauth/token"}
        async with desk(relay.port, credential=given, options=options) as at:
            assert at.adapters["linear"].check_target(at.target) == []
            assert (await at.ask("linear", "list_teams", {})).structured["teams"]
            await at.clock.sleep(100_000)  # the access token is of the past then
            assert (await at.ask("linear", "list_teams", {})).structured["teams"]
        async with desk(relay.port, credential=given, options=options) as at:
            with pytest.raises(AdapterError) as caught:
                await at.ask("linear", "list_teams", {})
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)


async def _agreed(url: str) -> str:
    """The refresh token that the app gets when somebody agrees."""
    form = {"client_id": APP, "redirect_uri": APP_BACK, "scope": "read write"}
    async with aiohttp.request("POST", f"{url}/oauth/authorize/callback", data=form, allow_redirects=False) as response:
        code = parse_qs(urlsplit(response.headers["Location"]).query)["code"][0]
    form |= {"grant_type": "authorization_code", "code": code, "client_secret": APP_SECRET}
    async with aiohttp.request("POST", f"{url}/oauth/token", data=form) as response:
        return str((await response.json())["refresh_token"])


@pytest.mark.proves("linear", "list_projects", "success")
@pytest.mark.proves("linear", "list_projects", "paging")
@pytest.mark.parametrize("is_of_team", [False, True])
async def test_projects_are_listed(linear: Linear, is_of_team: bool) -> None:
    """Of all teams, and of one."""
    arguments = {"team_id": (await linear.team())["id"]} if is_of_team else {}
    found = [project["name"] for project in await linear.everything("list_projects", "projects", arguments)]
    assert {"Billing", "Search"} <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.proves("linear", "list_cycles", "success")
@pytest.mark.proves("linear", "list_cycles", "paging")
@pytest.mark.parametrize("is_of_team", [False, True])
async def test_cycles_are_listed(linear: Linear, is_of_team: bool) -> None:
    """Of all teams, and of one."""
    arguments = {"team_id": (await linear.team())["id"]} if is_of_team else {}
    found = await linear.everything("list_cycles", "cycles", arguments)
    begins = {cycle["name"]: (cycle["number"], cycle["starts_at"]) for cycle in found}
    assert begins["First"] == (1, "2026-01-05T00:00:00.000Z")
    assert begins["Second"] == (2, "2026-01-19T00:00:00.000Z")


@pytest.mark.proves("linear", "list_projects", "failure")
@pytest.mark.proves("linear", "list_cycles", "failure")
async def test_lists_of_a_team_that_is_not_there_are_not_found(linear: Linear) -> None:
    """And not empty."""
    for operation in ("list_projects", "list_cycles"):
        assert (await linear.refused(operation, {"team_id": NOBODY})).kind is ErrorKind.NOT_FOUND
