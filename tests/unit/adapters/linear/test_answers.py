"""Linear's objects as an agent is told of them."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fakes.cases.linear import comment, issue, page

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.linear import answers
from adapters.linear.graphql import Answer
from adapters.transport.replies import Reply

ODD: tuple[Any, ...] = (None, True, -1, 1e308, "x", [], {}, [None], {"id": 1})
_REPLY = Reply(status=200, headers={}, value=None, happened=Happened.NO)


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from _places(part, (*at, key))


def _with(value: Any, at: tuple[Any, ...], odd: Any) -> Any:
    changed = copy.deepcopy(value)
    node = changed
    for key in at[:-1]:
        node = node[key]
    node[at[-1]] = odd
    return changed


def test_an_issue_is_told_of_by_its_parts() -> None:
    """Its priority in a word, its labels as a list."""
    told = answers.issue(issue())
    assert told is not None
    assert (told["identifier"], told["priority"], told["is_archived"]) == ("ENG-123", "urgent", False)
    assert told["state"] == {"id": issue()["state"]["id"], "name": "In Progress", "type": "started"}
    assert told["cycle"] == {"id": issue()["cycle"]["id"], "name": None, "number": 7}
    assert [label["name"] for label in told["labels"]] == ["Bug"]


@pytest.mark.parametrize(
    ("read", "good"),
    [
        (answers.issue, issue()),
        (answers.comment, {"id": "c", "body": "b", "createdAt": "t", "user": {"id": "u", "name": "n"}}),
        (answers.written_comment, comment()),
        (answers.team, {"id": "t", "key": "ENG", "states": {"nodes": [{"id": "s"}]}, "cyclesEnabled": True}),
        (answers.project, {"id": "p", "status": {"type": "started", "name": "n"}, "lead": {"id": "u"}}),
        (answers.cycle, {"id": "c", "number": 7, "progress": 0.5, "team": {"id": "t"}}),
    ],
)
def test_whatever_is_odd_in_an_object_is_null_and_the_rest_stays(read: Callable[[Any], Any], good: Any) -> None:
    """The same keys come back, or nothing at all when it cannot be told which object it is."""
    keys = read(good).keys()
    for at in _places(good):
        for odd in ODD:
            told = read(_with(good, at, odd))
            assert told is None or told.keys() == keys
    for odd in ODD:
        assert read(odd) is None


@pytest.mark.parametrize(("number", "word"), [(0, "none"), (4, "low"), (5, None), (-1, None), (2.0, "high")])
def test_a_priority_is_a_word(number: float, word: str | None) -> None:
    """A number that Linear does not have is none."""
    told = answers.issue(issue(priority=number))
    assert told is not None
    assert told["priority"] == word


def test_a_page_has_a_cursor_when_there_is_more() -> None:
    """And leaves out what cannot be read."""
    answer = Answer(value=None, reply=_REPLY)
    more = answers.page(answer, page(issue(), None, 7, following="c2"), "issues", answers.issue, ("search", {}))
    assert len(more["issues"]) == 1
    assert more["next_cursor"]
    last = answers.page(answer, page(), "issues", answers.issue, ("search", {}))
    assert last == {"issues": [], "next_cursor": None}


@pytest.mark.parametrize("following", [None, 7, {"hasNextPage": "yes"}, {"hasNextPage": True}, {"endCursor": "c"}])
def test_what_does_not_say_that_there_is_more_ends_a_list(following: Any) -> None:
    """A cursor that is missing as well."""
    told = {"nodes": [], "pageInfo": following}
    assert (
        answers.page(Answer(value=None, reply=_REPLY), told, "issues", answers.issue, ("s", {}))["next_cursor"] is None
    )


@pytest.mark.parametrize("connection", [None, [], {}, {"nodes": None}, {"nodes": {}}])
def test_a_list_without_its_nodes_is_malformed(connection: Any) -> None:
    """It is not an empty one."""
    with pytest.raises(AdapterError) as caught:
        answers.page(Answer(value=None, reply=_REPLY), connection, "issues", answers.issue, ("s", {}))
    assert caught.value.kind is ErrorKind.MALFORMED
