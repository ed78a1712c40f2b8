"""The second scene's vendors as only they themselves see them: a customer who was charged twice is put there before,
and what came of it is read there afterwards, past the gateway.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from gateway.cli.demo.refund.steps import AMOUNT, CHANNEL, CURRENCY, CUSTOMER, TEAM
from gateway.errors import StartError

_CARD = {"type": "card", "card[number]": "4242424242424242", "card[exp_month]": "12", "card[exp_year]": "2040"}
_ISSUES = "{issues{nodes{identifier title team{key}}}}"
_SECONDS = 10.0

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """What each vendor takes for proof of who asks. New for every run."""

    stripe: str = field(repr=False)
    linear: str = field(repr=False)
    slack: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """Where the vendors are. Raises `StartError` when one of them does not do what it is told."""

    stripe: str
    linear: str
    slack: str
    keys: Keys = field(repr=False)

    async def stock(self) -> None:
        """A customer who paid twice for one order, and another who paid once."""
        for email, name, times in ((CUSTOMER, "Ann Lee", 2), ("bo.berg@customer.example", "Bo Berg", 1)):
            customer = await self._stripe("customers", {"email": email, "name": name})
            method = await self._stripe("payment_methods", {**_CARD, "card[cvc]": "123"})
            await self._stripe(f"payment_methods/{method['id']}/attach", {"customer": customer["id"]})
            pays = {"amount": str(AMOUNT), "currency": CURRENCY, "customer": customer["id"]}
            for _ in range(times):
                await self._stripe("payment_intents", {**pays, "payment_method": method["id"], "confirm": "true"})

    async def refunds(self) -> list[Json]:
        """Every refund, of whatever payment."""
        found = await self._stripe("refunds?limit=100")
        return list(found["data"])

    async def issues(self) -> list[Json]:
        """The issues of the support team."""
        url, proof = f"{self.linear}/graphql", {"Authorization": self.keys.linear}
        found = await _asked("POST", url, proof, json={"query": _ISSUES})
        return [issue for issue in found["data"]["issues"]["nodes"] if issue["team"]["key"] == TEAM]

    async def messages(self) -> list[Json]:
        """What stands in the channel of the support team."""
        channels = (await self._slack("conversations.list", {}))["channels"]
        (channel,) = [channel for channel in channels if channel["name"] == CHANNEL]
        return list((await self._slack("conversations.history", {"channel": channel["id"]}))["messages"])

    async def _stripe(self, path: str, form: Mapping[str, str] | None = None) -> Json:
        proof = {"Authorization": f"Bearer {self.keys.stripe}"}
        return await _asked("GET" if form is None else "POST", f"{self.stripe}/v1/{path}", proof, data=form)

    async def _slack(self, method: str, form: Mapping[str, str]) -> Json:
        return await _asked("POST", f"{self.slack}/{method}", {"Authorization": f"Bearer {self.keys.slack}"}, data=form)


def seed(keys: Keys) -> Json:
    """What `emulate` begins with: a team with a channel and nothing to do, and keys that it takes."""
    return {
        "slack": {
            "team": {"name": "Corp", "domain": "corp"},
            "users": [{"name": "ines", "real_name": "Ines Dahl", "email": "ines.dahl@corp.example"}],
            "channels": [{"name": CHANNEL, "topic": "What customers write"}],
            "bots": [{"name": "tollhouse"}],
            "tokens": [
                {"token": keys.slack, "user": "ines", "scopes": ["chat:write", "channels:read", "channels:history"]}
            ],
            "strict_scopes": True,
        },
        "linear": {
            "organization": {"name": "Corp", "url_key": "corp"},
            "users": [{"email": "ines.dahl@corp.example", "name": "Ines Dahl", "admin": True}],
            "teams": [{"key": TEAM, "name": "Support", "states": [{"name": "Todo", "type": "unstarted"}]}],
            "tokens": [{"token": keys.linear, "user": "ines.dahl@corp.example", "scopes": ["read", "write"]}],
            "strict_scopes": True,
        },
    }


async def _asked(method: str, url: str, proof: Mapping[str, str], **more: Any) -> Json:
    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    try:
        async with aiohttp.request(method, url, headers=proof, timeout=timeout, **more) as response:
            response.raise_for_status()
            value: Json = await response.json()
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise StartError(f"a vendor of the demo did not do what it was told ({type(error).__name__})") from error
    return value
