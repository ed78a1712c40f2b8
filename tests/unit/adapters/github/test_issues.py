"""Issues: search, read, write, comment."""

from typing import Any

import pytest
from fakes.cases.github import PLACE, issue
from fakes.vendor import Said, VendorServer, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.github.issues import query_of
from adapters.github.marks import has_mark
from adapters.github.preparation import prepare_search

NEXT = {"Link": '<https://api.github.com/search/issues?page=2>; rel="next"'}


def query(**arguments: Any) -> str:
    """What GitHub is asked."""
    return query_of(prepare_search({"repositories": ["acme/site"], **arguments}))


def found(*issues: Any) -> dict[str, Any]:
    """What a search finds."""
    return {"total_count": len(issues), "incomplete_results": False, "items": list(issues)}


async def asked(operation: str, arguments: dict[str, Any], answer: Said) -> tuple[Any, VendorServer]:
    """The structured output, and the server."""
    async with vendor_server(answer) as server, desk(server) as at:
        output = await at.ask("github", operation, arguments)
    return output.structured, server


def test_a_query_names_its_repository_and_what_it_looks_for() -> None:
    """Each word is quoted."""
    assert query(text="cart lost", labels=["good first issue"]) == (
        'repo:acme/site is:issue is:open label:"good first issue" "cart" "lost"'
    )
    assert query(kind="pull_request", state="all") == "repo:acme/site is:pr"


def test_no_word_of_a_text_means_anything() -> None:
    """No qualifier, no operator, no bracket: nothing leads out of the repositories."""
    asked_for = query(text="repo:evil/x OR ) NOT -is:issue user:evil")
    assert asked_for.endswith('"repo:evil/x" "OR" ")" "NOT" "-is:issue" "user:evil"')


def test_several_repositories_are_put_together_by_or() -> None:
    """A blank would mean that an issue is in all of them."""
    asked_for = query_of(prepare_search({"repositories": ["acme/b", "acme/a"], "text": "x"}))
    assert asked_for == '(repo:acme/a OR repo:acme/b) is:issue is:open "x"'


async def test_an_or_is_asked_of_a_search_that_knows_it() -> None:
    """One repository is found by every search."""
    for repositories, asked_for in ((["acme/a", "acme/b"], ["true"]), (["acme/a"], None)):
        _, server = await asked("search_issues", {"repositories": repositories}, Said(found()))
        assert server.asked[0].query.get("advanced_search") == asked_for


async def test_what_was_found_elsewhere_is_left_out() -> None:
    """Whatever a search may do: policy saw these repositories and no other."""
    elsewhere = issue(8, repository_url="https://api.github.com/repos/acme/secret")
    nowhere = issue(9, repository_url=None)
    arguments = {"repositories": ["Acme/Site"], "text": "cart"}
    structured, server = await asked("search_issues", arguments, Said(found(issue(7), elsewhere, nowhere)))
    assert [one["number"] for one in structured["issues"]] == [7]
    assert server.asked[0].query == {
        "q": ['repo:acme/site is:issue is:open "cart"'],
        "per_page": ["20"],
        "page": ["1"],
    }


async def test_a_search_without_a_text_begins_with_what_changed_last() -> None:
    """There is nothing to match best."""
    _, server = await asked("search_issues", {"repositories": ["acme/site"]}, Said(found()))
    assert (server.asked[0].query["sort"], server.asked[0].query["order"]) == (["updated"], ["desc"])


@pytest.mark.parametrize(("incomplete", "is_complete"), [(False, True), (True, False), (None, False)])
async def test_a_search_says_whether_it_got_through(incomplete: Any, is_complete: bool) -> None:
    """GitHub stops when its time is up."""
    answer = Said(found() | {"incomplete_results": incomplete})
    structured, _ = await asked("search_issues", {"repositories": ["acme/site"]}, answer)
    assert structured["is_complete"] is is_complete


async def test_a_search_goes_on_and_ends_after_a_thousand() -> None:
    """There GitHub ends it."""
    arguments: dict[str, Any] = {"repositories": ["acme/site"], "page_size": 100}
    pages = 0
    async with vendor_server(Said(found(issue()), headers=NEXT)) as server, desk(server) as at:
        while pages == 0 or arguments.get("cursor"):
            output = await at.ask("github", "search_issues", arguments)
            arguments["cursor"] = output.structured["next_cursor"]
            pages += 1
    assert pages == 10
    assert [one.query["page"] for one in server.asked] == [[str(page)] for page in range(1, 11)]


async def test_a_new_issue_ends_in_the_mark_of_its_effect() -> None:
    """And has only what was given."""
    arguments = {**PLACE, "title": "Broken", "labels": ["bug"]}
    structured, server = await asked("create_issue", arguments, Said(issue(7), status=201))
    sent = server.asked[0].json
    assert sent.keys() == {"title", "body", "labels"}
    assert has_mark(sent["body"], "eff-1")
    assert structured == {"number": 7, "url": "https://github.com/acme/site/issues/7"}


async def test_a_comment_ends_in_the_mark_of_its_effect() -> None:
    """After what the agent wrote."""
    arguments = {**PLACE, "number": 7, "body": "Seen."}
    structured, server = await asked("comment_on_issue", arguments, Said({"id": 99}, status=201))
    assert server.asked[0].path == "/repos/acme/site/issues/7/comments"
    assert server.asked[0].json["body"].startswith("Seen.\n\n<!--")
    assert structured == {"comment_id": 99, "url": None}


async def test_a_comment_without_an_id_was_written_all_the_same() -> None:
    """GitHub took it."""
    with pytest.raises(AdapterError) as caught:
        await asked("comment_on_issue", {**PLACE, "number": 7, "body": "Seen."}, Said({}, status=201))
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.MALFORMED, Happened.YES)
