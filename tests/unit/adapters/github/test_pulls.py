"""Pull requests, and the checks of a commit."""

from typing import Any

import pytest
from fakes.cases.github import CHECK_RUN, PLACE, pull_request, user
from fakes.vendor import Said, VendorServer, desk, vendor_server

from adapters.github.marks import has_mark

OPEN = {**PLACE, "title": "Keep", "head": "cart", "base": "main"}


async def asked(operation: str, arguments: dict[str, Any], answer: Said) -> tuple[Any, VendorServer]:
    """The structured output, and the server."""
    async with vendor_server(answer) as server, desk(server) as at:
        output = await at.ask("github", operation, arguments)
    return output.structured, server


@pytest.mark.parametrize(
    ("more", "query"),
    [
        ({}, {"state": ["open"]}),
        ({"head": "cart"}, {"state": ["open"], "head": ["acme:cart"]}),
        ({"head": "bob:cart", "base": "main"}, {"state": ["open"], "head": ["bob:cart"], "base": ["main"]}),
        ({"state": "all", "page_size": 5}, {"state": ["all"], "per_page": ["5"]}),
    ],
)
async def test_a_list_asks_for_what_was_prepared(more: dict[str, Any], query: dict[str, list[str]]) -> None:
    """A branch by whose it is."""
    structured, server = await asked("list_pull_requests", {**PLACE, **more}, Said([pull_request()]))
    assert server.asked[0].query == {"per_page": ["20"], "page": ["1"], **query}
    assert (structured["pull_requests"][0]["number"], structured["next_cursor"]) == (12, None)


@pytest.mark.parametrize(("head", "sent"), [("cart", "cart"), ("acme:cart", "cart"), ("bob:cart", "bob:cart")])
async def test_a_new_pull_request_says_whose_branch_it_brings(head: str, sent: str) -> None:
    """And ends in the mark of its effect."""
    structured, server = await asked("open_pull_request", {**OPEN, "head": head}, Said(pull_request(), status=201))
    body = server.asked[0].json
    assert (body["head"], body["base"], body["draft"]) == (sent, "main", False)
    assert has_mark(body["body"], "eff-1")
    assert structured == {"number": 12, "state": "open", "url": "https://github.com/acme/site/pull/12"}


async def test_a_review_is_requested_of_who_was_named() -> None:
    """A list that is empty is not sent."""
    arguments = {**PLACE, "number": 12, "reviewers": ["Ann"]}
    structured, server = await asked("request_review", arguments, Said(pull_request(), status=201))
    assert server.asked[0].path == "/repos/acme/site/pulls/12/requested_reviewers"
    assert server.asked[0].json == {"reviewers": ["ann"]}
    assert (structured["requested_reviewers"], structured["requested_teams"]) == (["ann"], ["web"])


async def test_a_preview_shows_who_is_asked_and_who_would_be() -> None:
    """It only reads."""
    there = pull_request(requested_reviewers=[user("Bob")], requested_teams=[])
    async with vendor_server(Said(there)) as server, desk(server) as at:
        operation = at.adapters["github"].operations["request_review"]
        assert operation.preview is not None
        prepared = operation.prepare({**PLACE, "number": 12, "reviewers": ["ann"], "team_reviewers": ["web"]})
        shown = await operation.preview(at.invocation(prepared))
    assert shown == {
        "was": {"reviewers": ["bob"], "team_reviewers": []},
        "will_be": {"reviewers": ["ann", "bob"], "team_reviewers": ["web"]},
    }
    assert not server.effects


async def test_the_checks_of_a_branch_are_asked_for_by_its_name() -> None:
    """Whose slashes are no folders."""
    arguments = {**PLACE, "ref": "feature/cart", "name": "tests", "status": "completed"}
    answer = Said({"total_count": 1, "check_runs": [CHECK_RUN]})
    async with vendor_server(answer) as server, desk(server) as at:
        output = await at.ask("github", "list_check_runs", arguments)
    assert server.asked[0].path == "/repos/acme/site/commits/feature/cart/check-runs"
    assert (server.asked[0].query["check_name"], server.asked[0].query["status"]) == (["tests"], ["completed"])
    assert (output.structured["total_count"], output.structured["check_runs"][0]["conclusion"]) == (1, "failure")
