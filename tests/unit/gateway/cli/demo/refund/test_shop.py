"""The second scene's vendors: what is put there before, and what is read there afterwards."""

import json

import pytest
from fakes.vendor import Asked, Said, vendor_server

from gateway.cli.demo.refund.shop import Keys, Shop, seed
from gateway.cli.demo.refund.steps import CUSTOMER
from gateway.errors import StartError

KEYS = Keys(stripe="sk_test_1", linear="lin_api_1", slack="xoxb-1")


def _shop(url: str) -> Shop:
    return Shop(stripe=url, linear=url, slack=f"{url}/api", keys=KEYS)


async def test_a_customer_pays_twice_and_another_once() -> None:
    """Each with a card of their own, and nothing is refunded."""
    async with vendor_server(Said({"id": "x_1"})) as server:
        await _shop(server.url).stock()
    paid = [asked.form for asked in server.asked if asked.path == "/v1/payment_intents"]
    assert [(one["amount"], one["currency"], one["confirm"]) for one in paid] == [("2000", "usd", "true")] * 3
    emails = [asked.form["email"] for asked in server.asked if asked.path == "/v1/customers"]
    assert emails[0] == CUSTOMER
    assert len(emails) == 2
    assert {asked.headers["Authorization"] for asked in server.asked} == {"Bearer sk_test_1"}


async def test_what_was_done_is_read_at_the_vendors() -> None:
    """Refunds of whatever payment, the support team's issues, and its channel's messages."""

    def answer(asked: Asked) -> Said:
        if asked.path == "/graphql":
            teams = ("SUP", "ENG")
            nodes = [{"identifier": f"{key}-1", "title": "t", "team": {"key": key}} for key in teams]
            return Said({"data": {"issues": {"nodes": nodes}}})
        if asked.path == "/api/conversations.list":
            return Said({"channels": [{"id": "C1", "name": "general"}, {"id": "C2", "name": "support"}]})
        if asked.path == "/api/conversations.history":
            return Said({"messages": [{"text": asked.form["channel"]}]})
        return Said({"data": [{"id": "re_1"}]})

    async with vendor_server(answer) as server:
        shop = _shop(server.url)
        assert await shop.refunds() == [{"id": "re_1"}]
        assert [issue["identifier"] for issue in await shop.issues()] == ["SUP-1"]
        assert await shop.messages() == [{"text": "C2"}]


@pytest.mark.parametrize("said", [Said({}, status=500), Said(body=b"nonsense"), Said(cut=True)])
async def test_a_vendor_that_does_not_do_it_is_a_sentence(said: Said) -> None:
    """And no traceback."""
    async with vendor_server(said) as server:
        with pytest.raises(StartError, match="a vendor of the demo did not do what it was told"):
            await _shop(server.url).refunds()


def test_keys_do_not_show() -> None:
    """But in what `emulate` begins with, which has to know them."""
    assert "lin_api_1" in json.dumps(seed(KEYS))
    assert "xoxb-1" not in repr(_shop("http://127.0.0.1:1"))
