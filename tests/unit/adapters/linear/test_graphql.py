"""One question to Linear, and its answer."""

from typing import Any

import pytest
from fakes.cases.linear import TEAM, errors, issue, variables
from fakes.vendor import Said, desk, saying, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened, Output

CREATE = {"team_id": TEAM, "title": "Broken"}


async def _outcome(operation: str, arguments: dict[str, Any], *said: Said) -> Output | AdapterError:
    async with vendor_server(saying(*said)) as server, desk(server) as at:
        try:
            return await at.ask("linear", operation, arguments)
        except AdapterError as error:
            return error


async def test_a_question_is_a_post_with_a_document_and_its_variables() -> None:
    """To one path; the arguments stand in the variables alone."""
    evil = '"}){issueDelete(id:"x"){success}}#'
    async with vendor_server(Said({"data": {"issues": {"nodes": []}}})) as server, desk(server) as at:
        await at.ask("linear", "search_issues", {"text": evil})
        (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/graphql")
    assert asked.json["operationName"] == "SearchIssues"
    assert "issueDelete" not in asked.json["query"]
    assert "issueDelete(id:" in str(variables(asked)["filter"])


@pytest.mark.parametrize("value", [{}, {"data": None}, {"data": {}}, {"data": []}, None, [1]])
async def test_an_answer_without_its_root_leaves_a_write_unknown(value: Any) -> None:
    """And a read malformed, with nothing done."""
    written, read = await _outcome("create_issue", CREATE, Said(value)), await _outcome("list_teams", {}, Said(value))
    assert isinstance(written, AdapterError)
    assert isinstance(read, AdapterError)
    assert (written.kind, written.happened) == (ErrorKind.MALFORMED, Happened.UNKNOWN)
    assert (read.kind, read.happened) == (ErrorKind.MALFORMED, Happened.NO)


@pytest.mark.parametrize(
    ("payload", "kind", "happened"),
    [
        ({"success": False, "issue": None}, ErrorKind.INVALID, Happened.NO),
        ({"success": False}, ErrorKind.INVALID, Happened.NO),
        ({"success": False, "issue": issue()}, ErrorKind.MALFORMED, Happened.UNKNOWN),
        ({"success": "yes", "issue": issue()}, ErrorKind.MALFORMED, Happened.UNKNOWN),
        ({"issue": issue()}, ErrorKind.MALFORMED, Happened.UNKNOWN),
        (None, ErrorKind.MALFORMED, Happened.UNKNOWN),
        ({"success": True}, ErrorKind.MALFORMED, Happened.YES),
        ({"success": True, "issue": {"identifier": "ENG-1"}}, ErrorKind.MALFORMED, Happened.YES),
    ],
)
async def test_a_mutation_has_succeeded_when_it_says_so(payload: Any, kind: ErrorKind, happened: Happened) -> None:
    """A success that is false is none, and what is neither may hide one (G18)."""
    payloads = Said({"data": {"issueUpdate": payload}})
    error = await _outcome("update_issue", {"issue": "ENG-1", "title": "New"}, payloads)
    assert isinstance(error, AdapterError)
    assert (error.kind, error.happened) == (kind, happened)


async def test_g18_no_error_in_a_200_is_a_success() -> None:
    """Whatever its code, and whatever data stands beside it."""
    codes = [
        "RATELIMITED",
        "AUTHENTICATION_ERROR",
        "FORBIDDEN",
        "INPUT_ERROR",
        "INTERNAL_SERVER_ERROR",
        "NEW_CODE",
        None,
    ]
    for code in codes:
        for more in ({}, {"data": {"issueUpdate": {"success": True, "issue": issue()}}}):
            outcome = await _outcome("update_issue", {"issue": "ENG-1", "title": "New"}, errors(code, **more))
            assert isinstance(outcome, AdapterError), (code, more)
            assert outcome.attempts == 1
            assert outcome.happened is (Happened.YES if more else outcome.happened)
