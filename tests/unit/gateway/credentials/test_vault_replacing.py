"""A field of a secret is replaced by check-and-set, or not at all."""

from collections.abc import Callable
from typing import Any

import pytest

from gateway.clients.vault_answers import SecretFields, SecretPlace, Trouble, VaultFailed
from gateway.credentials.vault_places import VaultPlace
from gateway.credentials.vault_replacing import ROUNDS, replaced

PLACE = VaultPlace(SecretPlace(namespace="", mount="secret", version=2, path="acme/drive"), "oauth")


class Kv:
    """One secret. `meanwhile` is done between our reading and our writing."""

    def __init__(self, *, counts: bool = True, **fields: Any) -> None:
        self.fields = fields
        self.counts = counts
        self.version = 1 if counts else 0
        self.failure: Trouble | None = None
        self.is_carried_out = False
        self.meanwhile: Callable[[], None] = lambda: None
        self.writes = 0

    def change(self, **fields: Any) -> None:
        """Somebody writes it."""
        self.fields = {**self.fields, **fields}
        self.version += self.counts

    async def read(self, _place: SecretPlace) -> SecretFields:
        """The newest version."""
        return SecretFields(dict(self.fields), 0.0, self.version)

    async def write(self, _place: SecretPlace, fields: SecretFields) -> None:
        """Check and set."""
        self.writes += 1
        self.meanwhile()
        if self.failure is not None and not self.is_carried_out:
            raise VaultFailed(self.failure)
        if self.counts and fields.version != self.version:
            raise VaultFailed(Trouble.REJECTED)
        self.fields = dict(fields.values)
        self.version += self.counts
        if self.failure is not None:
            raise VaultFailed(self.failure)

    async def replace(self) -> bool:
        """From `old` to `new`."""
        return await replaced(self.read, self.write, PLACE, ("old", "new"))


@pytest.mark.parametrize("counts", [True, False])
async def test_one_field_is_changed_and_no_other(counts: bool) -> None:
    """Whatever the others hold."""
    kv = Kv(counts=counts, oauth="old", port=25, nested={"a": [1, None]})
    assert await kv.replace()
    assert kv.fields == {"oauth": "new", "port": 25, "nested": {"a": [1, None]}}


async def test_something_else_stays() -> None:
    """Somebody was faster, before we read it or after."""
    kv = Kv(oauth="theirs")
    assert not await kv.replace()
    assert kv.writes == 0
    kv = Kv(oauth="old")
    kv.meanwhile = lambda: kv.change(oauth="theirs")
    assert not await kv.replace()
    assert kv.fields["oauth"] == "theirs"


async def test_a_field_that_is_gone_is_something_else() -> None:
    """Nothing is put in its place."""
    assert not await Kv(other="x").replace()


async def test_others_may_change_other_fields_meanwhile() -> None:
    """What they wrote stays, and so does ours."""
    kv = Kv(oauth="old", count=0)
    changes = iter(range(1, ROUNDS))

    def change() -> None:
        for count in changes:
            kv.change(count=count)
            break

    kv.meanwhile = change
    assert await kv.replace()
    assert kv.fields == {"oauth": "new", "count": ROUNDS - 1}


async def test_others_who_never_stop_are_not_raced_for_ever() -> None:
    """It is not written then."""
    kv = Kv(oauth="old", count=0)
    kv.meanwhile = lambda: kv.change(count=kv.fields["count"] + 1)
    with pytest.raises(VaultFailed):
        await kv.replace()
    assert kv.writes == ROUNDS


@pytest.mark.parametrize("trouble", [Trouble.TIMEOUT, Trouble.RESET, Trouble.DENIED, Trouble.SEALED])
async def test_a_write_that_fails_is_told(trouble: Trouble) -> None:
    """And is not tried again here."""
    kv = Kv(oauth="old")
    kv.failure = trouble
    with pytest.raises(VaultFailed) as caught:
        await kv.replace()
    assert caught.value.trouble is trouble
    assert kv.writes == 1


async def test_a_write_that_the_server_refuses_without_a_newer_version_is_told() -> None:
    """It is larger than the server takes, for instance: asking again changes nothing."""
    kv = Kv(oauth="old")
    kv.failure = Trouble.REJECTED
    with pytest.raises(VaultFailed):
        await kv.replace()
    assert kv.writes == 1


async def test_one_that_was_carried_out_though_nobody_said_so_is_done() -> None:
    """The next try finds it."""
    kv = Kv(oauth="old")
    kv.failure, kv.is_carried_out = Trouble.TIMEOUT, True
    with pytest.raises(VaultFailed):
        await kv.replace()
    assert await kv.replace()
    assert kv.writes == 1
