"""What became of an effect of which no answer came."""

from typing import Any

import pytest
from fakes.cases.github import GITHUB, issue, pull_request, user
from fakes.vendor import Said, VendorServer, desk, saying, vendor_server

from adapters.base import AdapterError, Finding
from adapters.github.marks import with_mark, with_trailer
from adapters.github.reconcile import MAX_PAGES

SINCE = 1_767_225_600.0
NEXT = {"Link": '<https://api.github.com/x?page=2>; rel="next"'}
MARKED = ("create_issue", "comment_on_issue", "open_pull_request")
each_marked = pytest.mark.parametrize("operation", MARKED)


def written(effect_id: str, **more: Any) -> dict[str, Any]:
    """An issue, a comment or a pull request of an effect."""
    return issue(body=with_mark("Text.", effect_id), **more)


def commit(effect_id: str) -> dict[str, Any]:
    """A commit of an effect."""
    return {"sha": "a" * 40, "commit": {"message": with_trailer("Keep", effect_id)}}


async def found(operation: str, *answers: Said, since: float = SINCE) -> tuple[Finding, VendorServer]:
    """What is found out of the effect `eff-1`, and the server."""
    async with vendor_server(saying(*answers)) as server, desk(server) as at:
        finding = await at.reconcile("github", operation, GITHUB[operation].arguments(0), since=since)
    assert not server.effects
    return finding, server


@each_marked
async def test_what_has_the_effects_mark_was_done(operation: str) -> None:
    """Also on a later page; what has another's mark was not."""
    assert (await found(operation, Said([written("eff-2"), written("eff-1")])))[0] is Finding.DONE
    pages = Said([written("eff-2")], headers=NEXT), Said([written("eff-1")])
    assert (await found(operation, *pages))[0] is Finding.DONE


@pytest.mark.parametrize("operation", ["create_issue", "comment_on_issue", "commit_files"])
async def test_what_may_be_deleted_is_never_said_not_to_have_been_done(operation: str) -> None:
    """That it is not there proves nothing: whoever did it again would do it twice."""
    assert (await found(operation, Said([])))[0] is Finding.STILL_UNKNOWN
    assert (await found(operation, Said([written("eff-2")])))[0] is Finding.STILL_UNKNOWN


async def test_what_people_changed_afterwards_was_done() -> None:
    """The mark is there, and more after it."""
    changed = issue(body=with_mark("Text.", "eff-1") + "\n\nEdit: solved.")
    assert (await found("create_issue", Said([changed])))[0] is Finding.DONE


OTHER_BRANCH = {"ref": "other", "sha": "a" * 40}


@pytest.mark.parametrize(
    ("items", "since", "finding"),
    [
        ([], SINCE - 181, Finding.NOT_DONE),
        ([], SINCE - 179, Finding.STILL_UNKNOWN),
        ([pull_request(head=OTHER_BRANCH)], SINCE - 300, Finding.NOT_DONE),
        ([pull_request()], SINCE - 300, Finding.STILL_UNKNOWN),
        ([pull_request(head=None)], SINCE - 300, Finding.STILL_UNKNOWN),
        ([pull_request(created_at=None)], SINCE - 300, Finding.STILL_UNKNOWN),
        ([pull_request(created_at="2025-12-31T23:54:59Z")], SINCE - 300, Finding.NOT_DONE),
        ([pull_request()], 0.0, Finding.STILL_UNKNOWN),
    ],
)
async def test_a_pull_request_is_never_deleted(items: list[Any], since: float, finding: Finding) -> None:
    """So one that is in no list was not opened, if it had time to and no other of the branch may be it."""
    assert (await found("open_pull_request", Said(items), since=since))[0] is finding


async def test_a_pull_request_is_found_behind_another_of_its_branch() -> None:
    """On a later page."""
    pages = Said([pull_request()], headers=NEXT), Said([written("eff-1")])
    assert (await found("open_pull_request", *pages, since=SINCE - 300))[0] is Finding.DONE


@pytest.mark.parametrize("operation", [*MARKED, "commit_files"])
async def test_a_list_without_end_leaves_it_unknown(operation: str) -> None:
    """It is not read for ever."""
    finding, server = await found(operation, Said([{"created_at": "2026-01-02T00:00:00Z"}], headers=NEXT))
    assert (finding, len(server.asked)) == (Finding.STILL_UNKNOWN, MAX_PAGES)


async def test_pull_requests_are_read_back_to_the_first_attempt() -> None:
    """And no further."""
    old = Said([pull_request(created_at="2025-12-31T20:00:00Z")], headers=NEXT)
    finding, server = await found("open_pull_request", old, since=SINCE - 300)
    assert (finding, len(server.asked)) == (Finding.NOT_DONE, 1)


async def test_a_list_goes_on_past_what_is_as_old_as_the_first_attempt() -> None:
    """To the second, it may be the effect's."""
    same = Said([written("x", created_at="2026-01-01T00:00:00Z")], headers=NEXT)
    assert (await found("create_issue", same, Said([written("eff-1")])))[0] is Finding.DONE


async def test_comments_are_read_from_the_oldest_on() -> None:
    """One that was changed meanwhile is among the new ones, however old it is."""
    old = Said([written("x", created_at="2025-01-01T00:00:00Z")], headers=NEXT)
    assert (await found("comment_on_issue", old, Said([written("eff-1")])))[0] is Finding.DONE


@pytest.mark.parametrize("operation", [*MARKED, "commit_files"])
async def test_a_repository_that_does_not_answer_proves_nothing(operation: str) -> None:
    """It is an error, and the outcome stays unknown."""
    for answer in (Said({}, status=404), Said({}, status=500), Said({"items": []}), Said(None)):
        with pytest.raises(AdapterError):
            await found(operation, answer)


@pytest.mark.parametrize("operation", ["create_issue", "comment_on_issue", "commit_files"])
async def test_only_what_is_new_is_asked_for(operation: str) -> None:
    """From the first attempt on, when it is known."""
    assert (await found(operation, Said([])))[1].asked[0].query["since"] == ["2026-01-01T00:00:00Z"]
    assert "since" not in (await found(operation, Said([]), since=0.0))[1].asked[0].query


async def test_a_pull_request_is_looked_for_among_all() -> None:
    """Closed ones too: a filter by branch that GitHub reads otherwise would hide it."""
    query = (await found("open_pull_request", Said([pull_request()])))[1].asked[0].query
    assert query == {"state": ["all"], "sort": ["created"], "direction": ["desc"], "per_page": ["100"], "page": ["1"]}


async def test_a_commit_is_found_on_its_branch_by_its_trailer() -> None:
    """Of its own effect."""
    assert (await found("commit_files", Said([commit("eff-2"), commit("eff-1")])))[0] is Finding.DONE
    finding, server = await found("commit_files", Said([commit("eff-2"), {"commit": None}, {}]))
    assert finding is Finding.STILL_UNKNOWN
    assert server.asked[0].query["sha"] == ["cart"]


@pytest.mark.parametrize(
    ("people", "teams", "finding"),
    [
        (["Ann", "bob"], ["Web"], Finding.DONE),
        (["ann"], ["web"], Finding.DONE),
        (["ann"], [], Finding.STILL_UNKNOWN),
        (["bob"], ["web"], Finding.STILL_UNKNOWN),
    ],
)
async def test_a_review_is_requested_when_everybody_is_asked(
    people: list[str], teams: list[str], finding: Finding
) -> None:
    """Who is not may have answered already."""
    answer = pull_request(
        requested_reviewers=[user(login) for login in people], requested_teams=[{"slug": slug} for slug in teams]
    )
    assert (await found("request_review", Said(answer)))[0] is finding
