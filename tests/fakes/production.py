"""A whole gateway as it is deployed: beside a real OPA, a real OpenBao and a real Valkey, each behind a relay."""

import asyncio
import contextlib
import itertools
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc.aio
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from grpc_health.v1 import health_pb2, health_pb2_grpc
from real.bao import Bao, running

from fakes.adapter import FakeAdapter
from fakes.opa import BUNDLE
from fakes.opa_bundles import RealOpa, built_of, real_opa
from fakes.path import registry_rows
from fakes.relay import HttpNonsense, RedisNonsense, Relay, Way
from fakes.served import channel_to, lines_in, settings_in
from gateway.app import build_gateway
from gateway.cli.demo.daemons import Daemon, valkey
from gateway.lifecycle import Gateway
from gateway.settings.limits import LimitSettings, RateSettings, RedisSettings, WhenDownSettings
from gateway.settings.load import Settings
from gateway.settings.parts import CredentialGrant
from gateway.settings.policy import OpaSettings, PolicySettings
from gateway.settings.vault import AppRoleAuth, VaultMount, VaultSettings
from gateway.v1 import tool_service_pb2_grpc as rpc

SECRET = "tok-7c1e55d0a94b"
REFERENCE = "vault:secret/acme/mail#token"
FIRST, SECOND = (f"20261130T10000{n}Z-0123456789ab" for n in (1, 2))
"""Revisions, the older one first."""
OPA_SECONDS, VAULT_SECONDS, LIMITER_SECONDS = 0.3, 0.3, 0.15
"""Deadlines of the three parts."""
CACHE_SECONDS, STALE_SECONDS = 1.0, 1.0
WIDE = RateSettings(per_minute=6_000_000, burst=1_000_000)
"""A rate that nobody reaches, so that the limiter is always asked."""

_POLICY = """default decision := {"effect": "deny", "reasons": [{"code": "bad"}], "obligations": []}

said := object.get(input.arguments, "path", object.get(input.arguments, "text", ""))

decision := {"effect": "allow", "reasons": [], "obligations": []} if {
	startswith(said, "good")
	input.tool.side_effect in %s
}
"""
EVERYTHING, READS_ALONE = (_POLICY % effects for effects in ('{"read", "write"}', '{"read"}'))
"""Policies that let through what says that it is good, and nothing of nobody's."""

_NUMBERS = itertools.count(1)
"""Each gateway counts for itself."""
_ALLOW = b'{"effect":"allow","reasons":[],"obligations":[]}'
_OPA_NONSENSE = (
    b"{}",
    b"[]",
    b"null",
    b"<html>Be right back</html>",
    b'{"result":' + _ALLOW + b"}",
    b'{"result":' + _ALLOW + b',"provenance":{"bundles":{"other":{"revision":"' + FIRST.encode() + b'"}}}}',
    b'{"result":' + _ALLOW + b',"result":true}',
)
_VAULT_NONSENSE = (b"{}", b"[]", b"null", b"<html>Please log in</html>", b'{"data":{"data":["tok"]}}', b'{"data":7}')
_YES_TO_ANOTHER = b"*3\r\n:-1\r\n:0\r\n$1\r\n0\r\n"
_VALKEY_NONSENSE = (_YES_TO_ANOTHER, b"+OK\r\n", b":1\r\n", b"$-1\r\n", b"*1\r\n:-1\r\n", b"$3\r\nyes\r\n")


@dataclass(frozen=True)
class Backing:
    """The real servers. Whoever breaks one makes it well again."""

    opa: RealOpa
    bao: Bao
    valkey: Daemon
    valkey_socket: Path
    login: tuple[Path, Path]
    """Files with the gateway's role id and secret id."""
    bundle_of: Callable[[str, str], bytes]
    """A signed bundle of a policy's text and its revision."""

    def daemon(self, part: str) -> Daemon:
        """The process of `opa`, `vault` or `limiter`."""
        return {"opa": self.opa.daemon, "vault": self.bao.daemon, "limiter": self.valkey}[part]

    def start(self, part: str) -> None:
        """Return when it is up again after it was killed."""
        self.bao.start() if part == "vault" else self.daemon(part).start()


@contextlib.contextmanager
def backing(folder: Path) -> Iterator[Backing]:
    """The servers, with a policy, a secret and nothing counted yet."""
    private, public = _signing_keys(folder)

    def bundle_of(text: str, revision: str) -> bytes:
        return built_of(text, revision, "--signing-key", str(private))

    with contextlib.ExitStack() as stack:
        opa = stack.enter_context(real_opa(bundle_of(EVERYTHING, FIRST), public))
        bao = stack.enter_context(running(folder / "bao"))
        login = _with_secret(bao, folder)
        socket = opa.folder / "v.sock"
        server = stack.enter_context(valkey(folder, socket))
        yield Backing(opa, bao, server, socket, login, bundle_of)


def _signing_keys(folder: Path) -> tuple[Path, str]:
    private, file = rsa.generate_private_key(public_exponent=65537, key_size=2048), folder / "signer.pem"
    file.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return file, private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def _with_secret(bao: Bao, folder: Path) -> tuple[Path, Path]:
    bao.mount("secret", 2)
    bao.put("secret", "acme/mail", token=SECRET)
    bao.allow("gateway", "secret/data/*")
    files = folder / "role", folder / "secret"
    for file, value in zip(files, bao.role("gateway", "gateway"), strict=True):
        file.write_text(value)
    return files


class Production:
    """A gateway that runs, what it stands beside, and ways to break that."""

    def __init__(self, folder: Path, servers: Backing, relays: dict[str, Relay], adapter: FakeAdapter) -> None:
        self.folder = folder
        self.servers = servers
        self.adapter = adapter
        self.gateway: Gateway
        self.stub: Any
        self._relays = relays
        self._health: Any

    def take(self, gateway: Gateway, channel: grpc.aio.Channel) -> None:
        """It was started, and is reached by this channel."""
        self.gateway, self.stub = gateway, rpc.ToolServiceStub(channel)
        self._health = health_pb2_grpc.HealthStub(channel)

    async def is_serving(self) -> bool:
        """What `grpc.health.v1` says."""
        answer = await self._health.Check(health_pb2.HealthCheckRequest(), timeout=5)
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    @contextlib.asynccontextmanager
    async def broken(self, part: str, way: str) -> AsyncIterator[None]:
        """For the length of the block `opa`, `vault` or `limiter` is `killed`, `frozen`, or what a relay can do."""
        await self._break(part, way)
        try:
            yield
        finally:
            await self._mend(part, way)

    async def mend_all(self) -> None:
        """Every relay hands on what comes."""
        for relay in self._relays.values():
            await relay.turn(Way.PASS)

    async def _break(self, part: str, way: str) -> None:
        if way == "killed":
            await asyncio.to_thread(self.servers.daemon(part).kill)
        elif way == "frozen":
            self.servers.daemon(part).freeze()
        else:
            await self._relays[part].turn(Way(way))

    async def _mend(self, part: str, way: str) -> None:
        if way == "killed":
            await asyncio.to_thread(self.servers.start, part)
        elif way == "frozen":
            self.servers.daemon(part).thaw()
        else:
            await self._relays[part].turn(Way.PASS)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Every audit line."""
        return lines_in(self.folder)

    def intents(self) -> set[str]:
        """The ids of all calls whose effect was claimed in the store, which holds its intent until it is known."""
        with contextlib.closing(sqlite3.connect(self.folder / "state" / "store.db")) as store:
            return {call_id for (call_id,) in store.execute("SELECT call_id FROM idempotency")}


def production_settings(folder: Path, servers: Backing, relays: dict[str, Relay], **limits: Any) -> Settings:
    """Everything real. `limits` are settings of limits, beside a rate of the tenant that all calls take from."""
    opa = OpaSettings(url=relays["opa"].address, bundle=BUNDLE, timeout_ms=OPA_SECONDS * 1000, poll_seconds=0.2)
    role_file, secret_file = servers.login
    vault = VaultSettings(
        addresses=(f"http://{relays['vault'].address}",),
        auth=AppRoleAuth(kind="approle", role_id_file=role_file, secret_id_file=secret_file),
        mounts=(VaultMount(path="secret", version=2),),
        timeout_ms=VAULT_SECONDS * 1000,
        cache_seconds=CACHE_SECONDS,
        max_stale_seconds=STALE_SECONDS,
    )
    redis = RedisSettings(
        url=f"redis://{relays['limiter'].address}", prefix=f"t{next(_NUMBERS)}", timeout_ms=LIMITER_SECONDS * 1000
    )
    usual: dict[str, Any] = {"caller": WIDE, "tenant": WIDE, "redis": redis}
    grant = CredentialGrant(tenant="acme", references=("vault:secret/acme/*",), hosts=("api.fake.example",))
    return settings_in(
        folder,
        rows=production_rows(),
        credentials=(grant,),
        policy=PolicySettings(opa=opa),
        vault=vault,
        limits=LimitSettings(**{**usual, **limits}),
    )


def production_rows() -> dict[str, Any]:
    """The usual rows; the credential of the tools `echo_sealed` and `note_sealed` is in the vault."""
    rows = registry_rows()
    sealed = next(row for row in rows["connections"] if row["name"] == "sealed")
    sealed["credential"] = REFERENCE
    return rows


def when_down(mode: str, replicas: int = 1) -> WhenDownSettings:
    """This for reads, by the rate that all calls take from."""
    return WhenDownSettings.model_validate({"tenant": mode, "replicas": replicas})


@contextlib.asynccontextmanager
async def production(folder: Path, servers: Backing, way: Way = Way.PASS, **limits: Any) -> AsyncIterator[Production]:
    """A gateway beside these servers, with its state in the folder. See `production_settings`.

    `way` is what every relay does already when it starts.
    """
    async with contextlib.AsyncExitStack() as stack:
        relays = {
            "opa": Relay(servers.opa.url, HttpNonsense(*_OPA_NONSENSE)),
            "vault": Relay(f"127.0.0.1:{servers.bao.port}", HttpNonsense(*_VAULT_NONSENSE)),
            "limiter": Relay(f"unix:{servers.valkey_socket}", RedisNonsense(*_VALKEY_NONSENSE)),
        }
        for name, relay in relays.items():
            at = f"unix:{folder / 'o.sock'}" if name == "opa" else "127.0.0.1:0"
            await stack.enter_async_context(relay.listening(at))
            await relay.turn(way)
        one = Production(folder, servers, relays, FakeAdapter())
        settings = production_settings(folder, servers, relays, **limits)
        gateway = build_gateway(settings, adapters={"fake": one.adapter})
        await gateway.start()
        stack.push_async_callback(gateway.stop)
        channel = await stack.enter_async_context(channel_to(gateway.describe().listeners[0].address))
        one.take(gateway, channel)
        yield one
