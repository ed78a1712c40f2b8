"""What a vault's answers mean."""

import json

import pytest

from adapters.base import Fault
from gateway.clients.vault_answers import (
    SecretFields,
    Trouble,
    VaultFailed,
    VaultToken,
    fields_in,
    json_in,
    lease_in,
    seconds_in,
    text_in,
    token_in,
    trouble_of_status,
)

ABSENT = b'{"errors":[]}'
DELETED = json.dumps({"data": {"data": None, "metadata": {"deletion_time": "2026-01-01T00:00:00Z"}}}).encode()
DESTROYED = json.dumps({"data": {"data": None, "metadata": {"deletion_time": "", "destroyed": True}}}).encode()


@pytest.mark.parametrize(
    ("status", "body", "trouble"),
    [
        (302, b"", Trouble.MALFORMED),
        (307, b"", Trouble.SEALED),
        (400, b"", Trouble.REJECTED),
        (401, b"", Trouble.DENIED),
        (403, b"", Trouble.DENIED),
        (404, ABSENT, Trouble.ABSENT),
        (404, b"<html>", Trouble.ABSENT),
        (404, DELETED, Trouble.DELETED),
        (404, DESTROYED, Trouble.DELETED),
        (405, b"", Trouble.REJECTED),
        (412, b"", Trouble.FAILED),
        (429, b"", Trouble.BUSY),
        (472, b"", Trouble.SEALED),
        (473, b"", Trouble.SEALED),
        (500, b"", Trouble.FAILED),
        (501, b"", Trouble.SEALED),
        (502, b"", Trouble.FAILED),
        (503, b"", Trouble.SEALED),
        (504, b"", Trouble.FAILED),
        (206, b"", Trouble.MALFORMED),
    ],
)
def test_every_status_has_one_meaning(status: int, body: bytes, trouble: Trouble) -> None:
    """A standby without a leader points elsewhere with 307, and that is not followed."""
    assert trouble_of_status(status, body) is trouble


def test_what_was_read_is_used_on_only_while_nobody_said_no() -> None:
    """A no, and a secret that is gone, end its use at once."""
    ends = {trouble for trouble in Trouble if not trouble.may_be_stale}
    assert ends == {
        Trouble.DENIED,
        Trouble.LOGIN_DENIED,
        Trouble.NO_PROOF,
        Trouble.REJECTED,
        Trouble.ABSENT,
        Trouble.DELETED,
    }


def test_only_a_no_has_the_fault_refused() -> None:
    """So the audit tells "we may not" from "nobody answers" and from "there is none"."""
    refused = {trouble for trouble in Trouble if trouble.fault is Fault.REFUSED}
    assert refused == {Trouble.DENIED, Trouble.LOGIN_DENIED}
    assert {trouble for trouble in Trouble if trouble.fault is None} == {Trouble.ABSENT, Trouble.DELETED}


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"<html>s3cr3t</html>", b'{"a":'])
def test_a_body_that_is_no_object_is_malformed_and_repeated_nowhere(body: bytes) -> None:
    """A parser's error would carry it along."""
    with pytest.raises(VaultFailed) as caught:
        json_in(body)
    assert caught.value.trouble is Trouble.MALFORMED
    assert caught.value.__context__ is None
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("auth", [None, [], {}, {"client_token": ""}, {"client_token": 5}, {"client_token": "a\r\nb"}])
def test_a_login_without_a_token_that_can_be_sent_is_malformed(auth: object) -> None:
    """A line break in a header would be another header."""
    with pytest.raises(VaultFailed):
        token_in({"auth": auth})


def test_a_token_has_its_time() -> None:
    """In seconds from now on."""
    token = token_in({"auth": {"client_token": "s.x", "lease_duration": 60, "renewable": True}})
    assert (token.value, token.seconds, token.is_renewable) == ("s.x", 60.0, True)


@pytest.mark.parametrize("value", [None, 0, -1, True, "60", {}])
def test_what_is_no_length_of_time_is_none(value: object) -> None:
    """Nothing is guessed."""
    assert seconds_in(value) == 0.0


def test_nothing_secret_is_printed() -> None:
    """Not by accident."""
    token = VaultToken(value="s.secret", seconds=1.0, is_renewable=True)
    assert "secret" not in repr(token)
    assert "hunter2" not in repr(SecretFields({"password": "hunter2"}, 0.0))


def test_a_lease_has_an_id_its_values_and_its_time() -> None:
    """A renewal has no values."""
    answer = {"lease_id": "db/creds/r/1", "lease_duration": 60, "renewable": True, "data": {"password": "hunter2"}}
    assert lease_in(answer) == ("db/creds/r/1", {"password": "hunter2"}, 60.0, True)
    assert lease_in({**answer, "data": None}).values == {}
    assert "hunter2" not in repr(lease_in(answer))


@pytest.mark.parametrize("lease_id", [None, "", 5, "a\nb", "x" * 513])
def test_what_nobody_could_give_back_is_no_lease(lease_id: object) -> None:
    """A credential without an id lives on after its call; one with a line break would be another line."""
    with pytest.raises(VaultFailed):
        lease_in({"lease_id": lease_id, "data": {"password": "hunter2"}})


@pytest.mark.parametrize("data", [None, [], {}, {"ciphertext": ""}, {"ciphertext": 5}])
def test_a_text_that_is_not_there_is_malformed(data: object) -> None:
    """Nothing is guessed."""
    with pytest.raises(VaultFailed):
        text_in({"data": data}, "ciphertext")
    assert text_in({"data": {"ciphertext": "vault:v1:x"}}, "ciphertext") == "vault:v1:x"


@pytest.mark.parametrize(
    ("metadata", "version"),
    [({"version": 7}, 7), ({"version": 0}, 0), ({"version": "7"}, 0), ({"version": True}, 0), ({}, 0), (None, 0)],
)
def test_a_secret_of_version_2_says_which_version_it_is(metadata: object, version: int) -> None:
    """0 when it cannot be told: a write after that takes a secret that is new alone."""
    fields = fields_in({"data": {"data": {"a": "b"}, "metadata": metadata}})
    assert fields == ({"a": "b"}, 0.0, version)
