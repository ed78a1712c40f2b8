"""A row becomes one plan, which is filled in the same way in `prepare` and in the call."""

import time
from collections.abc import Mapping
from typing import Any

import pytest
from fakes.recipes.http_api import NOTE, NOTE_ARGUMENTS, NOTE_OPTIONS, NOTE_PROPERTIES, recipe

from adapters.base import ArgumentProblem, SideEffect
from adapters.http_api.plans import MAX_PLACE, Plan, plan_of
from adapters.recipes import RecipeProblem


def problems(options: Mapping[str, Any], side_effect: SideEffect = SideEffect.WRITE) -> list[str]:
    """Where problems of a row are."""
    with pytest.raises(RecipeProblem) as caught:
        plan_of(recipe(options, NOTE_PROPERTIES, side_effect, required=("customer_id",)))
    return [issue.path for issue in caught.value.issues]


def plan(options: Mapping[str, Any], side_effect: SideEffect = SideEffect.WRITE) -> Plan:
    """A good one, whose arguments are those that it sends."""
    named = {name: one for name, one in NOTE_PROPERTIES.items() if name in str(options)}
    return plan_of(recipe(options, named, side_effect, required=tuple({"customer_id"} & named.keys())))


def issues(one: Plan, **arguments: Any) -> list[tuple[str, str]]:
    """What is wrong with arguments."""
    with pytest.raises(ArgumentProblem) as caught:
        one.prepare({**NOTE_ARGUMENTS, **arguments})
    return [(issue.path, issue.rule) for issue in caught.value.issues]


def test_a_request_is_filled_in() -> None:
    """All its parts."""
    filled = plan_of(NOTE).fill(NOTE_ARGUMENTS)
    assert filled.path == "/v1/customers/c-7/notes"
    assert filled.query == {"expand": ["owner"], "tag": ["a", "b"]}
    assert filled.headers == {"Content-Type": "application/json", "X-Reason": "follow-up"}
    assert filled.body == b'{"text":"Called.","source":"agent"}'
    assert "Called" not in repr(filled)


def test_prepare_gives_what_it_was_given() -> None:
    """As an object of its own."""
    prepared = plan_of(NOTE).prepare(dict(NOTE_ARGUMENTS))
    assert prepared == NOTE_ARGUMENTS
    assert prepared is not NOTE_ARGUMENTS


def test_everything_that_does_not_fit_is_told_at_once() -> None:
    """Path, query, header and body."""
    found = issues(plan_of(NOTE), customer_id="..", tags=[{}], reason="a\nb", text="\ud800")
    assert sorted(found) == [
        ("/customer_id", "path"),
        ("/reason", "header"),
        ("/tags/0", "type"),
        ("/text", "json"),
    ]


def test_an_address_without_end_is_refused_at_its_longest_argument() -> None:
    """Before any call, wherever the service is."""
    one = plan_of(NOTE)
    one.prepare({**NOTE_ARGUMENTS, "tags": ["x" * 1400]})
    assert issues(one, tags=["x" * MAX_PLACE]) == [("/tags", "max_length")]
    assert issues(one, customer_id="/" * (MAX_PLACE // 3)) == [("/customer_id", "max_length")]


def test_an_argument_without_end_is_refused_before_anything_is_done_with_it() -> None:
    """What takes seconds for one text would hold up every other call."""
    one, calls = plan_of(NOTE), 200
    huge = ("\ufdfa" * 500_000, "%25" * 500_000, "a b" * 500_000)
    began = time.process_time()
    for text in huge:
        assert issues(one, customer_id=text) == [("/customer_id", "max_length")]
    assert issues(one, tags=["\u00e4" * 1000] * calls) == [("/tags", "max_length")]
    assert time.process_time() - began < 0.5


def test_a_path_that_no_address_can_have_is_a_problem_of_the_row() -> None:
    """It would be one of every call."""
    assert problems({"method": "POST", "path": "/" + "a" * MAX_PLACE}) == ["/path"]
    assert "/path" in problems({"method": "POST", "path": "/{a\u202eb}"})


def test_an_argument_that_is_not_sent_is_a_problem() -> None:
    """Unless the row says that it is for policy and approvers alone: who approves must know what goes out."""
    options = {"method": "POST", "path": "/{customer_id}", "body": {"type": "json", "content": {"argument": "/text"}}}
    row = recipe(options, NOTE_PROPERTIES, required=("customer_id",))
    with pytest.raises(RecipeProblem) as caught:
        plan_of(row)
    assert [(issue.path, issue.rule) for issue in caught.value.issues] == [("", "unsent")] * 2
    assert "/reason" in str(caught.value)
    assert "/tags" in str(caught.value)
    told = plan_of(recipe({**options, "unsent": ["/reason", "/tags"]}, NOTE_PROPERTIES, required=("customer_id",)))
    assert told.fill(NOTE_ARGUMENTS).body == b'"Called."'


def test_a_body_may_be_another_type_of_json() -> None:
    """Which the row says."""
    headers = {"content-type": {"value": "application/merge-patch+json"}}
    one = plan({**NOTE_OPTIONS, "method": "PATCH", "headers": headers})
    assert one.fill(NOTE_ARGUMENTS).headers == {"Content-Type": "application/merge-patch+json"}
    assert one.fill(NOTE_ARGUMENTS).body == b'{"text":"Called.","source":"agent"}'
    assert problems({**NOTE_OPTIONS, "headers": {"content-type": {"value": "text/xml"}}}) == ["/headers/content-type"]
    assert problems({"method": "POST", "path": "/", "headers": headers}) == ["/headers/content-type"]


def test_without_a_body_there_is_no_type_of_one() -> None:
    """Of an optional argument that is absent."""
    one = plan({"method": "POST", "path": "/", "body": {"type": "json", "content": {"argument": "/text"}}})
    assert one.fill({}).headers == {}
    assert one.fill({}).body is None


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_may_be_repeated_is_no_write(method: str) -> None:
    """By whatever lies between; and it has no body."""
    assert problems({"method": method, "path": "/a"}) == ["/method"]
    assert problems({"method": method, "path": "/a"}, SideEffect.SEND) == ["/method"]
    body = {"type": "json", "content": {"value": 1}}
    assert problems({"method": method, "path": "/a", "body": body}, SideEffect.READ) == ["/body"]
    assert plan({"method": method, "path": "/a"}, SideEffect.READ).is_read


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_what_changes_something_is_no_read(method: str) -> None:
    """A POST may be one: it may only search."""
    assert problems({"method": method, "path": "/a"}, SideEffect.READ) == ["/method"]
    assert plan({"method": "POST", "path": "/a"}, SideEffect.READ).is_read
    assert not plan({"method": method, "path": "/a"}).is_read


def test_a_key_is_for_what_has_an_effect() -> None:
    """In a header that nobody else sets."""
    keyed = {"method": "POST", "path": "/a", "key_header": "idempotency-key"}
    assert plan(keyed).key_header == "Idempotency-Key"
    assert problems(keyed, SideEffect.READ) == ["/key_header"]
    for name in ("Host", "Accept", "Content-Type", "content_type", "Range"):
        assert problems({**keyed, "key_header": name}) == ["/key_header"]
    assert problems({**keyed, "headers": {"Idempotency_Key": {"value": "x"}}}) == ["/key_header"]
    assert problems({**keyed, "key_header": 7}) == ["/key_header"]
    assert problems({**keyed, "headers": {"Idempotency-KEY": {"value": "x"}}}) == ["/key_header"]


@pytest.mark.parametrize("options", [{"method": "get", "path": "/a"}, {"method": "CONNECT", "path": "/a"}])
def test_a_method_is_one_of_six(options: dict[str, Any]) -> None:
    """In capitals, as HTTP has them."""
    assert problems(options) == ["/method"]


@pytest.mark.parametrize("name", ["query", "headers", "body", "answer"])
@pytest.mark.parametrize("value", [None, [], "a", 7])
def test_a_part_that_is_no_object_is_a_problem(name: str, value: Any) -> None:
    """Told once."""
    assert problems({**NOTE_OPTIONS, name: value}) == [f"/{name}"]


def test_a_number_in_the_path_is_whole_when_it_is() -> None:
    """However JSON wrote it."""
    row = recipe({"method": "GET", "path": "/{n}"}, {"n": {"type": "integer"}}, SideEffect.READ, required=("n",))
    assert plan_of(row).fill({"n": 7.0}).path == "/7"
