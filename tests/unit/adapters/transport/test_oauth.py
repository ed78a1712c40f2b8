"""Proof by an access token, and by one of two ways."""

import pytest
from fakes.clock import FakeClock
from fakes.grants import Issuer, invocation

from adapters.base import AdapterError, ErrorKind, Grant, Invocation, Secret
from adapters.transport.authorisation import Bearer
from adapters.transport.oauth import ByForm, OAuth
from adapters.transport.tokens import MemoryTokens


class Kit:
    """OAuth over a vendor."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.issuer = Issuer(self.clock)
        self.calls: list[Invocation] = []
        self.oauth = OAuth(MemoryTokens(self.clock), self.exchange)

    async def exchange(self, call: Invocation, credential: Secret) -> Grant:
        """For the call that it is asked for."""
        self.calls.append(call)
        return await self.issuer.exchange(credential)


async def test_the_token_is_a_bearer_token_and_kept() -> None:
    """The exchange is told for which call it is."""
    kit = Kit()
    call = invocation(kit.clock)
    assert [await kit.oauth.headers(call) for _ in range(2)] == [{"Authorization": "Bearer access-1"}] * 2
    assert kit.calls == [call]
    assert kit.issuer.asked == ["first-credential"]


async def test_a_refused_one_is_renewed() -> None:
    """By another."""
    kit = Kit()
    call = invocation(kit.clock)
    refused = await kit.oauth.headers(call)
    assert await kit.oauth.renewed(call, refused) == {"Authorization": "Bearer access-2"}
    assert await kit.oauth.headers(call) == {"Authorization": "Bearer access-2"}


async def test_one_that_comes_back_the_same_is_no_other() -> None:
    """The vendor would refuse it again."""
    kit = Kit()

    async def same(_call: Invocation, _credential: Secret) -> Grant:
        return Grant(access_token="always", expires_at=kit.clock.now() + 3600)

    oauth = OAuth(MemoryTokens(kit.clock), same)
    call = invocation(kit.clock)
    assert await oauth.renewed(call, await oauth.headers(call)) is None


@pytest.mark.parametrize("token", ["", "a b", "a\r\nX-Evil: 1", "tökén"])
async def test_a_token_that_cannot_be_sent_is_not(token: str) -> None:
    """It would be another header."""
    kit = Kit()

    async def bad(_call: Invocation, _credential: Secret) -> Grant:
        return Grant(access_token=token, expires_at=kit.clock.now() + 3600)

    with pytest.raises(AdapterError) as caught:
        await OAuth(MemoryTokens(kit.clock), bad).headers(invocation(kit.clock))
    assert caught.value.kind is ErrorKind.NEEDS_AUTHORISATION


async def test_what_an_exchange_fails_with_is_what_comes_back() -> None:
    """As it is."""
    kit = Kit()
    kit.issuer.good = "another"
    with pytest.raises(AdapterError) as caught:
        await kit.oauth.headers(invocation(kit.clock))
    assert caught.value.message == "It is taken no more."


class TestByForm:
    """What the credential looks like says which way it is."""

    def made(self, kit: Kit) -> ByForm:
        """JSON is for an exchange, anything else is a token itself."""
        return ByForm(lambda text: text.startswith("{"), kit.oauth, Bearer())

    async def test_each_goes_its_way(self) -> None:
        """Headers, and what comes in their place."""
        kit = Kit()
        kit.issuer.good = "{}"
        plain, json = invocation(kit.clock, lent="plain"), invocation(kit.clock, lent="{}")
        way = self.made(kit)
        assert await way.headers(plain) == {"Authorization": "Bearer plain"}
        assert await way.renewed(plain, {"Authorization": "Bearer plain"}) is None
        assert await way.headers(json) == {"Authorization": "Bearer access-1"}
        assert await way.renewed(json, {"Authorization": "Bearer access-1"}) == {"Authorization": "Bearer access-2"}

    async def test_none_goes_the_other_way(self) -> None:
        """And ends there."""
        kit = Kit()
        call = invocation(kit.clock)
        bare = Invocation(
            arguments={}, target=call.target, credential=None, deadline=call.deadline, effect_id="e", learn=call.learn
        )
        with pytest.raises(AdapterError) as caught:
            await self.made(kit).headers(bare)
        assert caught.value.kind is ErrorKind.NEEDS_AUTHORISATION
        assert not kit.issuer.asked
