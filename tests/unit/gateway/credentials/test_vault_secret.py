"""What a vault gave, as a call gets it."""

import json

import pytest

from adapters.base import Fault
from gateway.clients.vault_answers import Trouble
from gateway.credentials.vault_cache import Held
from gateway.credentials.vault_secret import refusal_of, secret_of, secrets_of
from gateway.errors import Reason, Refusal
from gateway.result.scrub import scrub_text

VALUES = {"username": "v-user-1", "password": 'hunt"er2', "ttl": 60, "token": None, "empty": "", "list": ["x"]}


def test_without_a_field_it_is_a_document_of_all_text_and_each_value_besides() -> None:
    """In one and the same order always."""
    document, *fields = secrets_of(Held(VALUES), "")
    assert document.reveal() == '{"password":"hunt\\"er2","username":"v-user-1"}'
    assert json.loads(document.reveal()) == {"username": "v-user-1", "password": 'hunt"er2'}
    assert [field.reveal() for field in fields] == ['hunt"er2', "v-user-1"]
    assert secrets_of(Held(dict(reversed(VALUES.items()))), "")[0].reveal() == document.reveal()


def test_no_part_of_it_is_found_in_what_was_scrubbed() -> None:
    """The whole, and each field's value alone."""
    secrets = secrets_of(Held(VALUES), "")
    for leak in (secrets[0].reveal(), "user v-user-1 logged in", 'with hunt"er2'):
        scrubbed = scrub_text(leak, secrets)
        assert "v-user-1" not in scrubbed
        assert 'hunt"er2' not in scrubbed


def test_with_a_field_it_is_that_value() -> None:
    """And nothing else is read."""
    (only,) = secrets_of(Held(VALUES), "username")
    assert only.reveal() == "v-user-1"


def test_what_was_worked_out_of_a_value_is_shared_by_its_secrets() -> None:
    """By field."""
    held = Held(VALUES)
    one, other = secrets_of(held, ""), secrets_of(held, "")
    assert [a.derived is b.derived for a, b in zip(one, other, strict=True)] == [True] * 3
    assert one[0].derived is not one[1].derived


@pytest.mark.parametrize("field", ["token", "empty", "absent"])
def test_a_field_without_a_value_is_missing(field: str) -> None:
    """However it has none."""
    with pytest.raises(Refusal) as caught:
        secret_of(Held(VALUES), field)
    assert caught.value.reason is Reason.CREDENTIAL_MISSING


@pytest.mark.parametrize("values", [{"x": 5}, {"x": ["a"]}, {"x": "\ud800"}])
def test_what_is_no_text_cannot_be_used(values: dict[str, object]) -> None:
    """Nothing is guessed."""
    with pytest.raises(Refusal) as caught:
        secret_of(Held(values), "x")
    assert (caught.value.reason, caught.value.fault) == (Reason.CREDENTIAL_UNAVAILABLE, Fault.MALFORMED)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({}, Reason.CREDENTIAL_MISSING),
        ({"x": 5}, Reason.CREDENTIAL_MISSING),
        ({"x": "\ud800"}, Reason.CREDENTIAL_UNAVAILABLE),
    ],
)
def test_a_document_of_nothing_is_none(values: dict[str, object], reason: Reason) -> None:
    """There has to be text in it, and all of it has to be sendable."""
    with pytest.raises(Refusal) as caught:
        secrets_of(Held(values), "")
    assert caught.value.reason is reason


@pytest.mark.parametrize("trouble", Trouble)
def test_every_trouble_is_a_refusal(trouble: Trouble) -> None:
    """Nothing there is missing, and the rest says how it failed."""
    refusal = refusal_of(trouble)
    if trouble.fault is None:
        assert refusal.reason is Reason.CREDENTIAL_MISSING
    else:
        assert (refusal.reason, refusal.fault) == (Reason.CREDENTIAL_UNAVAILABLE, trouble.fault)
