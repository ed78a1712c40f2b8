"""A connection says where a service is and how its credential is sent, and nothing half."""

from typing import Any

import pytest

from adapters.base import AdapterError, ErrorKind, Happened, Target
from adapters.http_api.accounts import Account, Auth, account_of, problems_of


def target(**options: Any) -> Target:
    """A connection."""
    return Target(name="c", options=options)


@pytest.mark.parametrize(
    ("auth", "read"),
    [
        ({"kind": "bearer"}, Auth(kind="bearer")),
        ({"kind": "basic"}, Auth(kind="basic")),
        ({"kind": "header", "name": "x-api-key"}, Auth(kind="header", name="X-Api-Key")),
        (
            {"kind": "header", "name": "Authorization", "form": "Token {}"},
            Auth(kind="header", name="Authorization", form="Token {}"),
        ),
        ({"kind": "query", "name": "api_key"}, Auth(kind="query", name="api_key")),
    ],
)
def test_ways_to_send_a_credential(auth: dict[str, str], read: Auth) -> None:
    """Each of the four."""
    assert problems_of(target(auth=auth)) == []
    assert account_of(target(auth=auth)).auth == read


def test_a_connection_may_say_nothing() -> None:
    """A service may ask for no proof."""
    assert account_of(target()) == Account(auth=None, headers={})


def test_what_belongs_to_the_connection() -> None:
    """Its headers, and the one with its credential."""
    account = account_of(target(auth={"kind": "header", "name": "x-key"}, headers={"x-version": "2"}))
    assert account.headers == {"X-Version": "2"}
    assert account.header_names == {"x-version", "x-key"}
    assert "authorization" in account_of(target(auth={"kind": "basic"})).header_names


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"auth": None}, "options: auth: "),
        ({"auth": {}}, "options: auth/kind: "),
        ({"auth": {"kind": "digest"}}, "options: auth/kind: "),
        ({"auth": {"kind": "bearer", "name": "x"}}, "options: auth/name: "),
        ({"auth": {"kind": "header"}}, "options: auth/name: "),
        ({"auth": {"kind": "header", "name": "Host"}}, "options: auth/name: "),
        ({"auth": {"kind": "header", "name": "X-Key", "form": "Key"}}, "options: auth/form: "),
        ({"auth": {"kind": "header", "name": "X-Key", "form": "{}\r\n"}}, "options: auth/form: "),
        ({"auth": {"kind": "header", "name": "X-Key", "form": "{0}"}}, "options: auth/form: "),
        ({"auth": {"kind": "query"}}, "options: auth/name: "),
        ({"auth": {"kind": "query", "name": "ä"}}, "options: auth/name: "),
        ({"headers": []}, "options: headers: "),
        ({"headers": {"X-A": 7}}, "options: headers/X-A: "),
        ({"headers": {"X-A": "a\nb"}}, "options: headers/X-A: "),
        ({"headers": {"Authorization": "Bearer x"}}, "options: headers/Authorization: "),
        ({"headers": {"X-A": "1", "x-a": "2"}}, "options: headers/x-a: "),
    ],
)
def test_what_is_wrong_is_a_sentence_and_stops_every_call(options: dict[str, Any], where: str) -> None:
    """Which repeats no value."""
    (problem,) = problems_of(target(**options))
    assert problem.startswith(where)
    assert "Bearer" not in problem
    with pytest.raises(AdapterError) as caught:
        account_of(target(**options))
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)


def test_a_base_url_leaves_room_for_a_path() -> None:
    """A URL has an end."""
    assert problems_of(target(base_url="https://a.example/" + "x" * 494)) == []
    assert problems_of(target(base_url="https://a.example/" + "x" * 495))


@pytest.mark.parametrize("name", ["Content-Type", "content_type", "Range"])
def test_what_belongs_to_one_request_is_not_the_connections(name: str) -> None:
    """It would give every body a type that it has not, or every answer a part."""
    (problem,) = problems_of(target(headers={name: "text/plain"}))
    assert problem.startswith(f"options: headers/{name}: ")
    assert problem.endswith("belongs to one request; give it in the tool's row.")


def test_names_that_a_server_may_take_for_one_another_are_one() -> None:
    """Many servers read `_` and `-` alike."""
    assert problems_of(target(headers={"X-Key": "a", "x_key": "b"})) == [
        "options: headers/x_key: This header is set twice."
    ]
