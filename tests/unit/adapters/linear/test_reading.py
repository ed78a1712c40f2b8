"""What is read from Linear."""

from typing import Any

import pytest
from fakes.cases.linear import TEAM, data, issue, page, variables
from fakes.vendor import Asked, Said, desk, vendor_server

from adapters.base import AdapterError, ErrorKind


async def test_a_search_goes_on_where_it_was() -> None:
    """The vendor's cursor comes back from ours."""

    def answer(asked: Asked) -> Said:
        after = variables(asked)["after"]
        return data(issues=page(issue(identifier=f"ENG-{after or 1}"), following=None if after else "2"))

    async with vendor_server(answer) as server, desk(server) as at:
        first = await at.ask("linear", "search_issues", {"limit": 5})
        second = await at.ask("linear", "search_issues", {"limit": 5, "cursor": first.structured["next_cursor"]})
        asked = [variables(one) for one in server.asked]
    assert asked == [{"filter": None, "first": 5, "after": None}, {"filter": None, "first": 5, "after": "2"}]
    assert [one.structured["issues"][0]["identifier"] for one in (first, second)] == ["ENG-1", "ENG-2"]
    assert second.structured["next_cursor"] is None
    assert first.receipt == "Found 1 issue in Linear, and there are more."


async def test_an_issue_is_read_with_its_comments() -> None:
    """As far as they go."""
    comments = {"nodes": [{"id": "c1", "body": "Hi"}, None], "pageInfo": {"hasNextPage": True}}
    node = issue(description="Text", comments=comments)
    async with vendor_server(data(issue=node)) as server, desk(server) as at:
        told = (await at.ask("linear", "get_issue", {"issue": "ENG-123"})).structured
    assert (told["description"], told["has_more_comments"]) == ("Text", True)
    assert told["comments"] == [{"id": "c1", "body": "Hi", "author": None, "created_at": None}]


async def test_an_issue_without_comments_is_an_issue() -> None:
    """They are not essential."""
    async with vendor_server(data(issue=issue(comments=None))) as server, desk(server) as at:
        assert (await at.ask("linear", "get_issue", {"issue": "ENG-123"})).structured["comments"] == []


@pytest.mark.parametrize(("operation", "noun"), [("list_projects", "projects"), ("list_cycles", "cycles")])
async def test_a_list_is_of_all_teams_or_of_one(operation: str, noun: str) -> None:
    """By another document."""

    def answer(asked: Asked) -> Said:
        return data(team={noun: page()}) if "team" in variables(asked) else data(**{noun: page()})

    async with vendor_server(answer) as server, desk(server) as at:
        for arguments in ({}, {"team_id": TEAM}):
            assert (await at.ask("linear", operation, arguments)).structured == {noun: [], "next_cursor": None}
        names = [asked.json["operationName"] for asked in server.asked]
    assert names == [f"List{noun.title()}", f"ListTeam{noun.title()}"]


@pytest.mark.parametrize(
    ("operation", "arguments", "roots", "kind"),
    [
        ("get_issue", {"issue": "ENG-1"}, {"issue": None}, ErrorKind.NOT_FOUND),
        ("get_issue", {"issue": "ENG-1"}, {"issue": {"title": "No id"}}, ErrorKind.MALFORMED),
        ("list_cycles", {"team_id": TEAM}, {"team": None}, ErrorKind.NOT_FOUND),
        ("list_cycles", {"team_id": TEAM}, {"team": []}, ErrorKind.MALFORMED),
        ("list_teams", {}, {"teams": None}, ErrorKind.MALFORMED),
    ],
)
async def test_what_is_missing_is_told_apart_from_what_is_wrong(
    operation: str, arguments: dict[str, Any], roots: dict[str, Any], kind: ErrorKind
) -> None:
    """Null is what is not there."""
    async with vendor_server(data(**roots)) as server, desk(server) as at:
        with pytest.raises(AdapterError) as caught:
            await at.ask("linear", operation, arguments)
    assert caught.value.kind is kind


async def test_a_page_that_leads_to_itself_is_the_last() -> None:
    """Nobody walks in a circle for a vendor's mistake."""
    async with vendor_server(data(issues=page(issue(), following="2"))) as server, desk(server) as at:
        first = (await at.ask("linear", "search_issues", {})).structured
        second = (await at.ask("linear", "search_issues", {"cursor": first["next_cursor"]})).structured
    assert (first["next_cursor"] is None, second["next_cursor"]) == (False, None)
