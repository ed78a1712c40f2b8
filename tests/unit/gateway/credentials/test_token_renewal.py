"""What is to be kept after a grant, and how what keeps the gateway from a credential is told.

How it is asked for and kept is in `test_tokens.py` and in the contract suite.
"""

import asyncio

import pytest
from fakes.clock import FakeClock
from fakes.grants import HOSTS, REFERENCE

from adapters.base import AdapterError, ErrorKind, Fault, Grant, Happened, Secret
from gateway.credentials import token_renewal as module
from gateway.credentials.token_renewal import Renewal, Wish, following, refusals_mapped
from gateway.credentials.token_rows import MOST_FORMER, Kept, Lease, Place, digest
from gateway.errors import Reason, Refusal

PLACE = Place("acme", "drive", REFERENCE, HOSTS)


def grant(credential: str | None = None) -> Grant:
    """One of a vendor."""
    return Grant(access_token="access-9", expires_at=9.0, credential=credential)


def digests(*credentials: str) -> tuple[str, ...]:
    """Of each."""
    return tuple(map(digest, credentials))


class TestFollowing:
    """What comes after what was kept."""

    def test_the_first_grant(self) -> None:
        """Of the credential that was used."""
        after = following(Kept(version=3), grant(), source="a", used="a", is_owed=True)
        assert after == Kept(token="access-9", expires_at=9.0, of=digests("a"), version=3)

    def test_the_first_rotation(self) -> None:
        """Whoever is lent the old one or the new one may use the token."""
        after = following(Kept(), grant("b"), source="a", used="a", is_owed=True)
        assert after.of == digests("b", "a")
        assert (after.replaces, after.credential, after.is_owed) == (digest("a"), "b", True)

    def test_rotations_where_nobody_can_write(self) -> None:
        """The reference gives the first one for ever; what counts is the last."""
        kept = following(Kept(), grant("b"), source="a", used="a", is_owed=False)
        kept = following(kept, grant("c"), source="a", used="b", is_owed=False)
        assert kept.of == digests("c", "b", "a")
        assert (kept.replaces, kept.credential) == (digest("a"), "c")

    def test_a_grant_without_rotation_leaves_what_is_kept_and_owed(self) -> None:
        """The debt is still one."""
        kept = following(Kept(), grant("b"), source="a", used="a", is_owed=True)
        after = following(kept, grant(), source="a", used="b", is_owed=True)
        assert (after.replaces, after.credential, after.is_owed) == (digest("a"), "b", True)

    def test_what_was_written_back_goes_on(self) -> None:
        """The reference gives the new one now, and it is one authorisation with those before."""
        kept = following(Kept(), grant("b"), source="a", used="a", is_owed=False)
        after = following(kept, grant("c"), source="b", used="b", is_owed=True)
        assert after.of == digests("c", "b", "a")
        assert after.replaces == digest("b")

    def test_a_new_authorisation_forgets_those_before(self) -> None:
        """Whoever is still lent an old one must not get its token."""
        kept = following(Kept(), grant("b"), source="a", used="a", is_owed=True)
        after = following(kept, grant(), source="x", used="x", is_owed=True)
        assert after.of == digests("x")
        assert not after.is_owed

    def test_only_so_many_are_remembered(self) -> None:
        """The newest."""
        kept = Kept()
        for number in range(20):
            last, new = str(number), str(number + 1)
            kept = following(kept, grant(new), source=last, used=last, is_owed=False)
        assert kept.of == digests(*(str(20 - number) for number in range(MOST_FORMER)))


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (Reason.CREDENTIAL_MISSING, ErrorKind.NEEDS_AUTHORISATION),
        (Reason.CREDENTIAL_NOT_ALLOWED, ErrorKind.FORBIDDEN),
        (Reason.CREDENTIAL_UNAVAILABLE, ErrorKind.UNAVAILABLE),
    ],
)
def test_what_keeps_the_gateway_from_a_credential_is_an_adapters_error(reason: Reason, kind: ErrorKind) -> None:
    """In the same words; nothing has happened."""
    with pytest.raises(AdapterError) as caught, refusals_mapped():
        raise Refusal(reason, "Our own words.", fault=Fault.TIMEOUT)
    error = caught.value
    assert (error.kind, error.message, error.fault, error.happened) == (kind, "Our own words.", Fault.TIMEOUT, "no")


async def test_a_vendor_that_never_answers_is_given_up_within_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its adapter does about it; and the lease is let go of."""
    monkeypatch.setattr(module, "EXCHANGE_SECONDS", 0.01)
    released: list[str] = []

    class Rows:
        async def look(self, _place: Place) -> Kept:
            return Kept()

        async def take(self, _place: Place) -> Lease:
            return Lease("me", Kept())

        async def release(self, _place: Place, holder: str) -> None:
            released.append(holder)

    class Nothing:
        async def again(self, *_reference: object) -> None:
            return None

    async def never(_credential: Secret) -> Grant:
        await asyncio.Event().wait()
        raise AssertionError

    renewal = Renewal(Rows(), Nothing, clock=FakeClock(), on_event=lambda *_event: None)  # type: ignore[arg-type]
    with pytest.raises(AdapterError) as caught:
        await renewal.token(Wish(place=PLACE, lent="a", refused="", exchange=never))
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert released == ["me"]


def test_a_wish_does_not_print_what_is_secret() -> None:
    """It is in tasks, whose names and frames are printed."""
    assert "hunter2" not in repr(Wish(place=PLACE, lent="hunter2", refused="hunter2", exchange=lambda _secret: None))  # type: ignore[arg-type, return-value]
