"""The checks see what is wrong: a description that lets everything pass proves nothing."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from fakes.vendor import Asked
from vendors.descriptions.described import check
from vendors.descriptions.linear_types import graphql_type
from vendors.descriptions.pruning import parameters_of, template_of

FORM = "application/x-www-form-urlencoded"


def post(path: str, body: Any, method: str = "POST") -> Asked:
    """JSON."""
    return Asked(method, path, {}, {"Content-Type": "application/json; charset=utf-8"}, json.dumps(body).encode())


def form(path: str, **fields: str) -> Asked:
    """A form."""
    return Asked("POST", path, {}, {"Content-Type": FORM}, urlencode(fields).encode())


def get(path: str, **query: str) -> Asked:
    """A query."""
    return Asked("GET", path, {name: [value] for name, value in query.items()}, {}, b"")


def linear(query: str, **variables: Any) -> Asked:
    """A request in GraphQL."""
    return post("/graphql", {"query": query, "variables": variables})


ISSUES = "/repos/acme/shop/issues"
EVENTS = "/calendar/v3/calendars/primary/events"
CREATE = "mutation($input: IssueCreateInput!) { issueCreate(input: $input) { success issue { id identifier } } }"
GOOD = {
    "github": [
        post(ISSUES, {"title": "It fails", "labels": ["bug"]}),
        get(ISSUES, state="open", per_page="30"),
        get("/repos/acme/shop/contents/docs/a b.md", ref="main"),
    ],
    "slack": [
        post("/api/chat.postMessage", {"channel": "C1", "text": "Hi", "metadata": {"event_type": "x"}}),
        form("/chat.postMessage", channel="C1", text="Hi"),
        form("/conversations.history", channel="C1", limit="20"),
    ],
    "stripe": [
        form("/v1/refunds", payment_intent="pi_1", amount="5", **{"metadata[effect]": "e"}),
        get("/v1/charges", limit="3", **{"created[gte]": "1767225600"}),
        get("/v1/payment_intents/pi_1", **{"expand[]": "latest_charge"}),
    ],
    "calendar": [
        post(
            EVENTS,
            {"summary": "Kickoff", "start": {"dateTime": "2026-01-10T09:00:00Z"}, "attendees": [{"email": "a@b.c"}]},
        ),
        get(EVENTS, maxResults="20", singleEvents="true"),
        post("/token", {}),
    ],
    "linear": [
        linear("{ teams(first: 5) { nodes { id key } pageInfo { endCursor hasNextPage } } }"),
        linear(CREATE, input={"teamId": "t", "title": "It fails"}),
    ],
}
BAD = {
    "github": [
        post(ISSUES, {"labels": ["bug"]}),
        post(ISSUES, {"title": "It fails", "labels": 7}),
        post(ISSUES, {"title": "It fails", "label": "bug"}),
        post(ISSUES, {"title": "It fails"}, "PUT"),
        get(ISSUES, stat="open"),
        get(ISSUES, per_page="many"),
        get("/repos/acme/shop/isues"),
    ],
    "slack": [
        post("/chat.postMessage", {"text": "Hi"}),
        post("/chat.postMessage", {"channel": 7, "text": "Hi"}),
        form("/chat.postMessage", channel="C1", txt="Hi"),
        form("/conversations.history", channel="C1", limit="many"),
        form("/chat.postMesage", channel="C1"),
    ],
    "stripe": [
        form("/v1/refunds", payment_intent="pi_1", amount="much"),
        form("/v1/refunds", payment="pi_1"),
        form("/v1/refunds", charge="ch_1", reason="bored"),
        get("/v1/charges", limit="many"),
        get("/v1/charges", **{"created[gte]": "yesterday"}),
        get("/v1/charges", colour="red"),
    ],
    "calendar": [
        post(EVENTS, {"summary": "Kickoff", "begin": {}}),
        post(EVENTS, {"attendees": [{"mail": "a@b.c"}]}),
        post(EVENTS, {"summary": 7}),
        get(EVENTS, maxResults="many"),
        get(EVENTS, limit="3"),
        get("/calendar/v3/calendar/primary/event"),
    ],
    "linear": [
        linear("{ teams { nodes { id colour_of_door } } }"),
        linear("{ teams { nodes { id } "),
        linear("{ teams(limit: 5) { nodes { id } } }"),
        linear(CREATE, input={"title": "It fails"}),
        linear(CREATE, input={"teamId": "t", "title": 7}),
        linear(CREATE, input={"teamId": "t", "titel": "It fails"}),
        linear(CREATE, input={"teamId": "t"}, more=1),
        linear("query($id: Int!) { issue(id: $id) { id } }", id=7),
    ],
}


@pytest.mark.parametrize("vendor", GOOD)
def test_what_is_right_passes(vendor: str) -> None:
    """None stands for what is known to be in no description."""
    assert [problems or [] for problems in check(vendor, GOOD[vendor])] == [[] for _ in GOOD[vendor]]


@pytest.mark.parametrize("vendor", BAD)
def test_what_is_wrong_does_not(vendor: str) -> None:
    """A name, a type, a value, a method or a path."""
    found = check(vendor, BAD[vendor])
    assert [asked for asked, problems in zip(BAD[vendor], found, strict=True) if not problems] == []


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ('Scalars["String"]', "String!"),
        ('Maybe<Scalars["DateTime"]>', "DateTime"),
        ("InputMaybe<Array<IssueSortInput>>", "[IssueSortInput!]"),
        ("Array<Maybe<Team>>", "[Team]!"),
    ],
)
def test_a_type_of_typescript_is_one_of_graphql(kind: str, expected: str) -> None:
    """What is no `Maybe` is never null."""
    assert graphql_type(kind) == expected


def test_the_template_with_the_most_that_is_fixed_is_a_paths_own() -> None:
    """And a file's path may have slashes."""
    templates = ["/a/{id}", "/a/new", "/a/{id}/contents/{path}"]
    assert template_of(templates, "/a/new") == "/a/new"
    assert template_of(templates, "/a/7") == "/a/{id}"
    assert template_of(templates, "/a/7/8") is None
    assert parameters_of(templates[2], "/a/7/contents/x/y z") == ["7", "x/y z"]
