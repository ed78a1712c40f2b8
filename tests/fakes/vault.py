"""Two vaults that a test rules: one in place of the client, one that speaks HTTP as badly as it is told."""

import asyncio
import base64
import contextlib
import http.server
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

from gateway.clients.vault_answers import Lease, SecretFields, SecretPlace, Trouble, VaultFailed, VaultToken


class FakeVault:
    """In place of a `VaultClient`. `secrets` holds what may be read, `tokens` those that live.

    `failure` is what every request ends with; `login_failure` every login, after it was counted. A request waits
    while `gate` is closed. `leases` are those that were issued and not revoked, by id, with who asked for them; each
    lasts `lease_seconds`, and `renewed_lease_seconds` when it was renewed. `failures` are of one kind of request.
    """

    def __init__(self) -> None:
        self.secrets: dict[SecretPlace, dict[str, Any]] = {}
        self.versions: dict[SecretPlace, int] = {}
        self.denied: set[SecretPlace] = set()
        self.engines: dict[str, int | None] = {}
        self.tokens: set[str] = set()
        self.token_seconds = 0.0
        self.renewed_seconds = 0.0
        self.is_renewable = True
        self.may_look_up = True
        self.suggested_seconds = 0.0
        self.failure: Trouble | None = None
        self.failures: dict[str, Trouble] = {}
        self.leases: dict[str, tuple[str, str, str]] = {}
        self.lease_values: dict[str, Any] = {"password": "hunter2-{id}", "username": "v-user-{id}"}
        self.lease_seconds = 60.0
        self.renewed_lease_seconds = 60.0
        self.forbidden: set[str] = set()
        self.transit_keys: set[str] = set()
        self.login_failure: Trouble | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked: list[str] = []
        self.materials: list[tuple[str, ...]] = []
        self.is_closed = False

    def count(self, what: str) -> int:
        """How many requests of one kind there were."""
        return self.asked.count(what)

    async def log_in_by_approle(self, mount: str, role_id: str, secret_id: str) -> VaultToken:
        """A new token."""
        return await self._log_in((mount, role_id, secret_id))

    async def log_in_by_kubernetes(self, mount: str, role: str, jwt: str) -> VaultToken:
        """A new token."""
        return await self._log_in((mount, role, jwt))

    async def renew(self, token: str) -> VaultToken:
        """The same token."""
        await self._ask("renew", token)
        return VaultToken(value=token, seconds=self.renewed_seconds, is_renewable=True)

    async def look_up(self, token: str) -> VaultToken:
        """What is known of a token."""
        await self._ask("look_up", token)
        if not self.may_look_up:
            raise VaultFailed(Trouble.DENIED)
        return VaultToken(value=token, seconds=self.token_seconds, is_renewable=self.is_renewable)

    async def read(self, token: str, place: SecretPlace) -> SecretFields:
        """A secret."""
        await self._ask("read", token)
        if place in self.denied:
            raise VaultFailed(Trouble.DENIED)
        if place not in self.secrets:
            raise VaultFailed(Trouble.ABSENT)
        return SecretFields(dict(self.secrets[place]), self.suggested_seconds, self.versions.get(place, 1))

    async def write(self, token: str, place: SecretPlace, values: Mapping[str, Any], *, after: int) -> None:
        """Check and set."""
        await self._ask("write", token)
        if self.versions.get(place, 1) != after:
            raise VaultFailed(Trouble.REJECTED)
        self.secrets[place], self.versions[place] = dict(values), after + 1

    async def engine_version(self, token: str, namespace: str, mount: str) -> int | None:
        """The version of an engine."""
        await self._ask("engine_version", token)
        if mount not in self.engines:
            raise VaultFailed(Trouble.DENIED)
        return self.engines[mount]

    async def issue(self, token: str, namespace: str, engine: str, role: str) -> Lease:
        """A lease of its own."""
        await self._ask("issue", token)
        number = self.count("issue")
        lease_id = f"{engine}/creds/{role}/{number}"
        self.leases[lease_id] = namespace, engine, role
        values = {
            name: value.replace("{id}", str(number)) if isinstance(value, str) else value
            for name, value in self.lease_values.items()
        }
        return Lease(lease_id, values, self.lease_seconds, is_renewable=True)

    async def renew_lease(self, token: str, namespace: str, lease_id: str, seconds: float) -> Lease:
        """The same lease."""
        await self._ask("renew_lease", token)
        if lease_id not in self.leases:
            raise VaultFailed(Trouble.REJECTED)
        return Lease(lease_id, {}, min(seconds, self.renewed_lease_seconds), is_renewable=True)

    async def revoke_lease(self, token: str, namespace: str, lease_id: str) -> None:
        """It is gone, whether it was there or not."""
        await self._ask("revoke_lease", token)
        self.leases.pop(lease_id, None)

    async def capabilities(self, token: str, namespace: str, paths: Sequence[str]) -> dict[str, frozenset[str]]:
        """Everything, but for the paths in `forbidden`."""
        await self._ask("capabilities", token)
        return {path: frozenset({"deny" if path in self.forbidden else "root"}) for path in paths}

    async def transit_encrypt(self, token: str, mount: str, key: str, plain: bytes, associated: bytes) -> str:
        """All that it takes to open it."""
        await self._ask("transit_encrypt", token)
        self.transit_keys.add(f"{mount}/{key}")
        return "vault:v1:" + ".".join(base64.b64encode(part).decode() for part in (key.encode(), associated, plain))

    async def transit_decrypt(self, token: str, mount: str, key: str, cipher: str, associated: bytes) -> bytes:
        """What was sealed with this key and this associated data."""
        await self._ask("transit_decrypt", token)
        head = "vault:v1:" + ".".join(base64.b64encode(part).decode() for part in (key.encode(), associated)) + "."
        try:
            if cipher.startswith(head):
                return base64.b64decode(cipher.removeprefix(head), validate=True)
        except ValueError:
            pass
        raise VaultFailed(Trouble.REJECTED)

    async def ping(self) -> None:
        """Whether a server answers."""
        await self._ask("ping")

    def close(self) -> None:
        """No more requests."""
        self.is_closed = True

    async def _log_in(self, material: tuple[str, ...]) -> VaultToken:
        self.materials.append(material)
        await self._ask("log_in")
        if self.login_failure is not None:
            raise VaultFailed(self.login_failure)
        token = f"token-{self.count('log_in')}"
        self.tokens.add(token)
        return VaultToken(value=token, seconds=self.token_seconds, is_renewable=self.is_renewable)

    async def _ask(self, what: str, token: str | None = None) -> None:
        self.asked.append(what)
        await self.gate.wait()
        if self.failure is not None:
            raise VaultFailed(self.failure)
        if what in self.failures:
            raise VaultFailed(self.failures[what])
        if token is not None and token not in self.tokens:
            raise VaultFailed(Trouble.DENIED)


class Seen(NamedTuple):
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Answer(NamedTuple):
    """What to say to it. When `drip_seconds` is not 0 it comes a byte at a time: the body, and with `is_raw` all."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = {}  # noqa: RUF012 - nobody changes it
    drip_seconds: float = 0.0
    is_raw: bool = False


class FakeVaultServer:
    """Answers HTTP on loopback with what `answer` returns; None breaks the connection off."""

    def __init__(self, answer: Callable[[Seen], Answer | None], tls: ssl.SSLContext | None = None) -> None:
        self.answer = answer
        self.seen: list[Seen] = []
        self.ended = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.fake = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.address = f"http{'s' if tls else ''}://127.0.0.1:{self._server.server_address[1]}"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [seen.path for seen in self.seen]


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    fake: FakeVaultServer

    def handle_error(self, _request: object, _client_address: object) -> None:
        """Clients go away; nobody wants to read of it."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        seen = Seen(self.command, self.path, dict(self.headers), body)
        self.server.fake.seen.append(seen)
        answer = self.server.fake.answer(seen)
        self.close_connection = answer is None
        if answer is not None:
            with contextlib.suppress(OSError):
                self._send(answer)

    do_GET = do_POST = do_PUT = _serve  # noqa: N815 - the library's names

    def _send(self, answer: Answer) -> None:
        if not answer.is_raw:
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
        for piece in pieces(answer):
            self.wfile.write(piece)
            if self.server.fake.ended.wait(answer.drip_seconds):
                return

    def log_message(self, *_arguments: object) -> None:
        """Nothing on the screen."""


def pieces(answer: Answer) -> Iterator[bytes]:
    """The body as it is sent."""
    if not answer.drip_seconds:
        yield answer.body
        return
    for value in answer.body:
        yield bytes([value])


def kv2(**fields: Any) -> Answer:
    """A secret of KV version 2."""
    return Answer(body=json.dumps({"data": {"data": fields, "metadata": {"version": 1}}}).encode())


def auth(token: str = "s.token", seconds: int = 0) -> Answer:
    """The answer to a login."""
    granted = {"client_token": token, "lease_duration": seconds, "renewable": True}
    return Answer(body=json.dumps({"auth": granted}).encode())
