"""OAuth connections from end to end: a real OpenBao, a real store, replicas, and a vendor's endpoint over HTTP that
takes every refresh token back by its use.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from fakes.seal import FakeSeal
from fakes.transport import open_transport
from fakes.vendor import Asked, Said, VendorServer, vendor_server
from real.bao import Bao, running
from real.postgres import Postgres
from real.stores import opened, postgres_settings

from adapters.base import AdapterError, ErrorKind, Invocation, Secret, Target
from adapters.transport.client import Transport
from adapters.transport.oauth import OAuth
from adapters.transport.refresh import Refresh
from gateway.clients.vault import VaultClient
from gateway.clock import SystemClock
from gateway.credentials.resolver import Resolver
from gateway.credentials.tokens import StoreTokens
from gateway.credentials.vault import VaultSource
from gateway.errors import Reason, Refusal
from gateway.settings.parts import CredentialGrant
from gateway.settings.vault import TokenAuth, VaultMount, VaultSettings

CLOCK = SystemClock()
POLICY = """
path "secret/data/*" { capabilities = ["read", "update"] }
path "legacy/*" { capabilities = ["read", "update"] }
"""


@pytest.fixture(scope="module")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bao]:
    """A server with both kinds of KV engine."""
    with running(tmp_path_factory.mktemp("bao")) as server:
        server.mount("secret", 2)
        server.mount("legacy", 1)
        server.root.sys.create_or_update_policy("gateway", POLICY)
        yield server


class Endpoint:
    """Takes each refresh token back when it is used, and every one of an account whose old one is used again."""

    def __init__(self) -> None:
        self.good = "refresh-0"
        self.used: list[str] = []
        self.is_revoked = False

    def answer(self, asked: Asked) -> Said:
        """RFC 6749."""
        shown = asked.form["refresh_token"]
        if shown in self.used:
            self.is_revoked = True
        if self.is_revoked or shown != self.good:
            return Said({"error": "invalid_grant", "error_description": f"{shown} is not good"}, status=400)
        self.used.append(shown)
        self.good = f"refresh-{len(self.used)}"
        token = f"access-{len(self.used)}"
        return Said({"access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": self.good})


def credential(refresh: str) -> str:
    """What a connection's credential holds."""
    return json.dumps({"client_id": "client-1", "client_secret": "client-secret-1", "refresh_token": refresh})


class Kit:
    """Replicas that share everything but their memory."""

    def __init__(self, bao: Bao, server: VendorServer, endpoint: Endpoint, folder: Path, mount: str) -> None:
        self.bao, self.server, self.endpoint, self.mount = bao, server, endpoint, mount
        self.version = 2 if mount == "secret" else 1
        self.reference = f"vault:{mount}/acme/drive#oauth"
        self.host = f"127.0.0.1:{server.port}"
        (folder / "token").write_text(bao.token("gateway"))
        self.settings = VaultSettings(
            addresses=(bao.address,),
            auth=TokenAuth(kind="token", token_file=folder / "token"),
            mounts=(VaultMount(path=mount, version=self.version),),
        )
        self.learned: list[str] = []

    def put(self, refresh: str) -> None:
        """A person authorises the account."""
        self.bao.put(self.mount, "acme/drive", self.version, oauth=credential(refresh), note="by hand")

    def kept(self) -> dict[str, str]:
        """What is in the vault now."""
        kv = self.bao.root.secrets.kv
        if self.version == 2:
            found = kv.v2.read_secret_version("acme/drive", mount_point=self.mount, raise_on_deleted_version=True)
            return dict(found["data"]["data"])
        return dict(kv.v1.read_secret("acme/drive", mount_point=self.mount)["data"])


class Replica:
    """One gateway's own."""

    def __init__(self, kit: Kit, source: VaultSource, tokens: StoreTokens, transport: Transport) -> None:
        self._kit = kit
        self.source = source
        self.tokens = tokens
        self._oauth = OAuth(tokens, Refresh(transport, CLOCK, f"http://{kit.host}/token"))

    async def ask(self, refused: str = "") -> str:
        """An access token, as a call gets it."""
        kit = self._kit
        lent = await self.source.resolve("acme", kit.reference.removeprefix("vault:"))
        call = Invocation(
            arguments={},
            target=Target(name="drive", account="acme/drive", hosts=(kit.host,)),
            credential=lent,
            deadline=CLOCK.monotonic() + 20,
            effect_id="eff-1",
            learn=lambda secret: kit.learned.append(secret.reveal()),
        )
        if not refused:
            headers = await self._oauth.headers(call)
        else:
            headers = await self._oauth.renewed(call, {"Authorization": f"Bearer {refused}"}) or {}
        return headers["Authorization"].removeprefix("Bearer ")


@pytest.fixture(params=["secret", "legacy"])
async def kit(request: pytest.FixtureRequest, bao: Bao, tmp_path: Path) -> AsyncIterator[Kit]:
    """Authorised by a person, in each kind of engine."""
    endpoint = Endpoint()
    async with vendor_server(endpoint.answer) as server:
        made = Kit(bao, server, endpoint, tmp_path, request.param)
        made.put("refresh-0")
        yield made


@pytest.fixture
async def replicas(kit: Kit, server: Postgres) -> AsyncIterator[list[Replica]]:
    """Three."""
    settings = await postgres_settings(server, timeout_ms=10_000)
    grants = (CredentialGrant(tenant="acme", references=(f"vault:{kit.mount}/acme/*",), hosts=("127.0.0.1",)),)
    async with AsyncExitStack() as stack:
        made = []
        for _ in range(3):
            database = await stack.enter_async_context(opened(settings))
            client = VaultClient(kit.settings.addresses, timeout_seconds=5.0)
            source = VaultSource(kit.settings, client, clock=CLOCK, chance=lambda: 0.0)
            stack.push_async_callback(source.stop)
            resolver = Resolver({"vault": source}, grants)
            tokens = StoreTokens(
                database,
                FakeSeal(),
                lambda resolver=resolver: resolver,
                lambda _account: ("acme", kit.reference),
                clock=CLOCK,
            )
            stack.push_async_callback(tokens.stop)
            transport = await stack.enter_async_context(open_transport(kit.host, clock=CLOCK))
            made.append(Replica(kit, source, tokens, transport))
        yield made


async def test_replicas_exchange_once_and_hand_the_rotated_token_on(kit: Kit, replicas: list[Replica]) -> None:
    """A vendor who sees a used token again takes everything back: it never does."""
    asked = await asyncio.gather(*(replicas[number % 3].ask() for number in range(30)))
    assert set(asked) == {"access-1"}
    for number in range(1, 6):
        refused = f"access-{number}"
        asked = await asyncio.gather(*(replicas[number % 3].ask(refused=refused) for _ in range(5)))
        assert set(asked) == {f"access-{number + 1}"}
        assert json.loads(kit.kept()["oauth"])["refresh_token"] == f"refresh-{number + 1}"
    assert kit.endpoint.used == [f"refresh-{number}" for number in range(6)]
    assert not kit.endpoint.is_revoked
    assert kit.kept()["note"] == "by hand"


async def test_what_is_secret_is_learned(kit: Kit, replicas: list[Replica]) -> None:
    """The token, the parts of the credential, and what came in their place."""
    await replicas[0].ask()
    assert {"access-1", "client-secret-1", "refresh-0", "refresh-1", kit.kept()["oauth"]} <= set(kit.learned)
    assert "client-1" not in kit.learned


async def test_a_person_who_authorises_anew_is_followed(kit: Kit, replicas: list[Replica]) -> None:
    """Though every replica still has the one before in its cache; and nothing is written over what they put there."""
    await replicas[0].ask()
    kit.put("refresh-of-a-person")
    kit.endpoint.good = "refresh-of-a-person"
    assert await replicas[1].ask(refused="access-1") == "access-2"
    assert kit.endpoint.used == ["refresh-0", "refresh-of-a-person"]
    assert json.loads(kit.kept()["oauth"])["refresh_token"] == "refresh-2"


async def test_a_refresh_token_that_was_taken_back_needs_a_person(kit: Kit, replicas: list[Replica]) -> None:
    """In words of our own."""
    kit.endpoint.is_revoked = True
    with pytest.raises(AdapterError) as caught:
        await replicas[0].ask()
    assert caught.value.kind is ErrorKind.NEEDS_AUTHORISATION
    assert "refresh-0" not in caught.value.message
    assert "authorise" in caught.value.message


async def test_a_vault_without_the_right_to_write_loses_nothing(kit: Kit, replicas: list[Replica], bao: Bao) -> None:
    """The store keeps what came; once the policy is right it is written."""
    bao.allow("gateway", "secret/data/*", "legacy/*")
    try:
        assert await replicas[0].ask() == "access-1"
        assert json.loads(kit.kept()["oauth"])["refresh_token"] == "refresh-0"
        assert await replicas[1].ask(refused="access-1") == "access-2"
    finally:
        bao.root.sys.create_or_update_policy("gateway", POLICY)
    async with asyncio.timeout(20):
        while json.loads(kit.kept()["oauth"])["refresh_token"] != "refresh-2":
            await asyncio.sleep(0.05)
    assert not kit.endpoint.is_revoked


async def test_check_and_set_of_a_real_vault(kit: Kit, replicas: list[Replica]) -> None:
    """Of many who replace one value at the same moment, no more than one does."""
    name = kit.reference.removeprefix("vault:")
    old = await replicas[0].source.resolve("acme", name)
    old = Secret(old.reveal())
    wanted = [credential(f"refresh-by-{number}") for number in range(3)]
    works = (one.source.replace("acme", name, old, new) for one, new in zip(replicas, wanted, strict=True))
    done = await asyncio.gather(*works)
    if kit.version == 2:  # version 1 cannot tell
        assert sum(done) == 1
        assert kit.kept()["oauth"] == wanted[done.index(True)]
    assert not await replicas[0].source.replace("acme", name, old, "another")


async def test_a_vault_that_is_down_is_unavailable(kit: Kit, replicas: list[Replica], bao: Bao) -> None:
    """The vendor is not asked with what may be old."""
    await replicas[0].ask()
    bao.daemon.kill()
    try:
        with pytest.raises((AdapterError, Refusal)) as caught:
            await replicas[0].ask(refused="access-1")
        told = getattr(caught.value, "kind", getattr(caught.value, "reason", None))
        assert told in (ErrorKind.UNAVAILABLE, Reason.CREDENTIAL_UNAVAILABLE)
        assert await replicas[0].ask() == "access-1"
    finally:
        bao.start()
    assert len(kit.endpoint.used) == 1
