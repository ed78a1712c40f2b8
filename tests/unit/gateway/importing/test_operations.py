"""The operations of a document, which of them can be, and which somebody wants."""

from typing import Any

import pytest
from fakes.descriptions import answered, document, parameter, proposed, reason_of

from gateway.errors import StartError
from gateway.importing import operations as module
from gateway.importing.operations import Choice, Described, operations_of, parameters_of
from gateway.importing.references import References


def found(paths: dict[str, Any], **components: Any) -> list[Described]:
    """The operations of a document."""
    whole = document(paths, **components)
    return operations_of(whole, References(whole))


def test_operations_come_in_the_documents_order() -> None:
    """By path, and what a path refers to inside of the document counts."""
    item = {"get": {"operationId": "a", "tags": ["x", 5]}, "summary": "s", "parameters": []}
    every = found({"/b": item, "/a": {"$ref": "#/components/pathItems/P"}, "x-own": item}, pathItems={"P": item})
    assert [(one.method, one.path, one.id, one.tags) for one in every] == [
        ("GET", "/b", "a", ("x",)),
        ("GET", "/a", "a", ("x",)),
    ]


@pytest.mark.parametrize(
    ("operation", "method", "why"),
    [
        (answered(), "trace", "TRACE is not offered"),
        (answered(), "options", "OPTIONS is not offered"),
        ({**answered(), "callbacks": {"done": {}}}, "post", "by a callback"),
        (answered(status="101"), "get", "a WebSocket"),
        ({**answered(), "servers": [{"url": "https://uploads.example.com"}]}, "post", "another address"),
        ({**answered(), "parameters": [{"in": "query"}]}, "get", "without a name"),
        ({**answered(), "parameters": [{"$ref": "common.yaml#/a"}]}, "get", "never fetched"),
        ({**answered(), "parameters": [parameter(f"p{n}") for n in range(201)]}, "get", "more than 200 parameters"),
    ],
)
def test_what_no_plain_request_can_be_is_skipped(operation: Any, method: str, why: str) -> None:
    """With its reason."""
    assert why in reason_of(operation, method=method)


def test_g13_a_path_elsewhere_is_told_and_not_fetched() -> None:
    """Nobody knows which operations it has."""
    proposal = proposed(document({"/a": {"$ref": "https://evil.example/paths.yaml"}}))
    assert [(one.operation, "never fetched" in one.reason) for one in proposal.skipped] == [("ANY /a", True)]


def test_an_operations_own_parameter_counts_and_not_its_paths() -> None:
    """Where both have one of the same name and place."""
    shared = [parameter("page"), parameter("id", "header")]
    (one,) = found({"/a": {"parameters": shared, "get": {"parameters": [parameter("page", description="own")]}}})
    every = parameters_of(one, References({}))
    assert [(each["name"], each.get("description")) for each in every] == [("page", "own"), ("id", None)]


def test_operations_and_paths_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence says so, long before all of them have been looked at."""
    monkeypatch.setattr(module, "MAX_OPERATIONS", 5)
    with pytest.raises(StartError, match="more than 5 operations"):
        found({f"/{number}": {"get": {}} for number in range(10)})
    with pytest.raises(StartError, match="a path that has no end"):
        found({"/" + "a" * 2000: {"get": {}}})


@pytest.mark.parametrize(
    ("wanted", "takes"),
    [
        ((), True),
        (("tag:Issues",), True),
        (("tag:issue",), False),
        (("path:/repos/*",), True),
        (("path:/repos",), False),
        (("github_issues_*",), True),
        (("issues/*",), True),
        (("nothing", "tag:issues"), True),
        (("ISSUES/*",), False),
    ],
)
def test_a_choice_is_of_tags_paths_and_names(wanted: tuple[str, ...], takes: bool) -> None:
    """Any one of them is enough."""
    operation = Described(method="GET", path="/repos/a/issues", id="issues/list", tags=("issues",), own={}, shared={})
    assert Choice(wanted).takes(operation, "github_issues_list") is takes
