"""Vault or OpenBao over hvac. Nothing ambient is honoured: no VAULT_* variable, no ~/.vault-token, no proxy, no
.netrc, no redirect. No text of an exception holds a path, a token or anything that a server said.
"""

import asyncio
import base64
import http.client
import http.cookiejar
import math
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hvac  # type: ignore[import-untyped]  # it brings no types
import hvac.adapters  # type: ignore[import-untyped]
import hvac.exceptions  # type: ignore[import-untyped]
import requests
import requests.adapters
import urllib3.exceptions

from gateway.clients.cutting import Line, make_cuttable, on
from gateway.clients.vault_answers import (
    Lease,
    SecretFields,
    SecretPlace,
    Trouble,
    VaultFailed,
    VaultToken,
    fields_in,
    json_in,
    lease_in,
    mapping_in,
    seconds_in,
    text_in,
    token_in,
    trouble_of_status,
)
from gateway.clients.vault_servers import Question, Request, Servers
from gateway.clients.vault_signatures import (
    SigningKey,
    SigningKeys,
    signatures_in,
    signing_key_in,
    signing_keys_in,
)

THREADS = 8
LEASE_SECONDS = 10.0
"""How long a request for a lease may take: giving one up early would leave a lease that nobody knows of."""
MAX_BYTES = 2 * 1024 * 1024
"""A larger answer is not read. OpenBao's own limit for an entry is 1 MiB."""


class VaultClient:
    """Asks one of several servers of one cluster; the one that answered last is asked first.

    Use it on one loop. Every request has one deadline, whatever the server does. A request that was given up may
    still be carried out by the server.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        *,
        namespace: str = "",
        ca_file: Path | None = None,
        timeout_seconds: float = 2.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`namespace` is where logins happen. `timeout_seconds` is for a request, whichever servers it goes to."""
        self._namespace = namespace
        self._timeout_seconds = timeout_seconds
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="vault")
        self._session = _session(ca_file)
        self._servers = Servers(addresses, self._carry_out, monotonic)

    async def log_in_by_approle(self, mount: str, role_id: str, secret_id: str) -> VaultToken:
        """A new token. Raises `VaultFailed`; one that broke off after it was sent may have used up the secret id."""
        return await self._log_in(lambda client: client.auth.approle.login(role_id, secret_id, False, mount))

    async def log_in_by_kubernetes(self, mount: str, role: str, jwt: str) -> VaultToken:
        """A new token. Raises `VaultFailed`."""
        return await self._log_in(lambda client: client.auth.kubernetes.login(role, jwt, False, mount))

    async def renew(self, token: str) -> VaultToken:
        """The same token with the time that it has now. Raises `VaultFailed`."""
        answer = await self._ask(self._namespace, token, lambda client: client.auth.token.renew_self())
        return token_in(answer)

    async def look_up(self, token: str) -> VaultToken:
        """What the server knows of this token. Raises `VaultFailed`: `DENIED` when it is dead, or may not ask."""
        answer = await self._ask(self._namespace, token, lambda client: client.auth.token.lookup_self())
        data = mapping_in(answer.get("data"))
        return VaultToken(value=token, seconds=seconds_in(data.get("ttl")), is_renewable=data.get("renewable") is True)

    async def read(self, token: str, place: SecretPlace) -> SecretFields:
        """All fields of the newest version. Raises `VaultFailed`."""
        if place.version == 1:
            answer = await self._ask(place.namespace, token, lambda client: _read_v1(client, place))
            return SecretFields(mapping_in(answer.get("data")), seconds_in(answer.get("lease_duration")))
        answer = await self._ask(place.namespace, token, lambda client: _read_v2(client, place))
        return fields_in(answer)

    async def write(self, token: str, place: SecretPlace, values: Mapping[str, Any], *, after: int) -> None:
        """These are all its fields from now on, if its newest version still is `after`; KV version 1 counts none, so
        that there whatever is there is written over. Raises `VaultFailed`: `REJECTED` also when there is another
        version. A request that broke off may have been carried out.
        """
        write = _write_v1 if place.version == 1 else _write_v2
        await self._ask(place.namespace, token, lambda client: write(client, place, values, after))

    async def engine_version(self, token: str, namespace: str, mount: str) -> int | None:
        """The version of the KV engine there; None when something else is. Raises `VaultFailed`.

        `DENIED` also when nothing is mounted there, or nothing that this token may use.
        """
        url = f"/v1/sys/internal/ui/mounts/{mount}"
        data = mapping_in((await self._ask(namespace, token, lambda client: client.adapter.get(url))).get("data"))
        if data.get("type") not in ("kv", "generic") or data.get("path") != f"{mount}/":
            return None
        return 2 if mapping_in(data.get("options") or {}).get("version") == "2" else 1

    async def issue(self, token: str, namespace: str, engine: str, role: str) -> Lease:
        """A credential made for this request alone. Raises `VaultFailed`; after a request that broke off, one may
        have been made that only its own end takes back.
        """
        url = f"/v1/{engine}/creds/{role}"
        asked = self._ask(
            namespace, token, lambda client: client.adapter.get(url), is_repeatable=False, seconds=LEASE_SECONDS
        )
        return lease_in(await asked)

    async def renew_lease(self, token: str, namespace: str, lease_id: str, seconds: float) -> Lease:
        """The lease with the time that it has now; a server gives less than was asked for. Raises `VaultFailed`."""
        answer = await self._ask(
            namespace, token, lambda client: client.sys.renew_lease(lease_id, increment=math.ceil(seconds))
        )
        return lease_in(answer)

    async def revoke_lease(self, token: str, namespace: str, lease_id: str) -> None:
        """Return when the credential is good for nothing any more; again and again is harmless. Raises `VaultFailed`:
        `REJECTED` also when whoever holds the account would not take it back.
        """
        body = {"lease_id": lease_id, "sync": True}
        await self._ask(
            namespace,
            token,
            lambda client: client.adapter.put("/v1/sys/leases/revoke", json=body),
            seconds=LEASE_SECONDS,
        )

    async def capabilities(self, token: str, namespace: str, paths: Sequence[str]) -> Mapping[str, frozenset[str]]:
        """What this token may do at each path, e.g. `read`, or `root` for all. Raises `VaultFailed`."""
        body = {"paths": list(paths)}
        answer = await self._ask(
            namespace, token, lambda client: client.adapter.post("/v1/sys/capabilities-self", json=body)
        )
        data = mapping_in(answer.get("data"))
        return {path: frozenset(data[path]) if isinstance(data.get(path), list) else frozenset() for path in paths}

    async def transit_encrypt(self, token: str, mount: str, key: str, plain: bytes, associated: bytes) -> str:
        """What the transit engine's key makes of this, in the engine's own text form. Raises `VaultFailed`."""
        body = {"plaintext": _base64(plain), "associated_data": _base64(associated)}
        url = f"/v1/{mount}/encrypt/{key}"
        answer = await self._ask(self._namespace, token, lambda client: client.adapter.post(url, json=body))
        return text_in(answer, "ciphertext")

    async def transit_decrypt(self, token: str, mount: str, key: str, cipher: str, associated: bytes) -> bytes:
        """The same back. Raises `VaultFailed`: `REJECTED` when this key did not make it with this associated data."""
        body = {"ciphertext": cipher, "associated_data": _base64(associated)}
        url = f"/v1/{mount}/decrypt/{key}"
        answer = await self._ask(self._namespace, token, lambda client: client.adapter.post(url, json=body))
        try:
            return base64.b64decode(text_in(answer, "plaintext"), validate=True)
        except ValueError:
            pass  # not chained: the error may hold what was opened
        raise VaultFailed(Trouble.MALFORMED)

    async def transit_signing_key(self, token: str, mount: str, key: str) -> SigningKey:
        """The newest version of an Ed25519 key of a transit engine. Raises `VaultFailed`."""
        url = f"/v1/{mount}/keys/{key}"
        return signing_key_in(await self._ask(self._namespace, token, lambda client: client.adapter.get(url)))

    async def transit_signing_keys(self, token: str, mount: str, key: str) -> SigningKeys:
        """Every version that verifies of an Ed25519 key of a transit engine. Raises `VaultFailed`."""
        url = f"/v1/{mount}/keys/{key}"
        return signing_keys_in(await self._ask(self._namespace, token, lambda client: client.adapter.get(url)))

    async def transit_sign(
        self, token: str, mount: str, key: str, version: int, messages: Sequence[bytes]
    ) -> list[bytes]:
        """A signature of each message by this version of an Ed25519 key. Raises `VaultFailed`."""
        body = {"batch_input": [{"input": _base64(message)} for message in messages], "key_version": version}
        url = f"/v1/{mount}/sign/{key}"
        answer = await self._ask(self._namespace, token, lambda client: client.adapter.post(url, json=body))
        return signatures_in(answer, version, len(messages))

    async def ping(self) -> None:
        """Return when a server would take a login. Raises `VaultFailed`."""
        url = "/v1/sys/health?standbyok=true&perfstandbyok=true"
        await self._ask("", "", lambda client: client.adapter.get(url))

    def close(self) -> None:
        """Close every connection. Does not wait for a server that does not answer."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._session.close()

    async def _log_in(self, ask: Question) -> VaultToken:
        try:
            return token_in(await self._ask(self._namespace, "", ask, is_repeatable=False))
        except VaultFailed as failed:
            failure = failed
        if failure.trouble in (Trouble.DENIED, Trouble.REJECTED, Trouble.ABSENT):
            failure = VaultFailed(Trouble.LOGIN_DENIED)
        raise failure

    async def _ask(
        self, namespace: str, token: str, ask: Question, *, is_repeatable: bool = True, seconds: float = 0.0
    ) -> Mapping[str, Any]:
        """The answer. Exceptions of the thread hold no cause: libraries put URLs into theirs."""
        seconds = max(seconds, self._timeout_seconds)
        request = Request(namespace, token, ask, is_repeatable, seconds, Line())
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                return await loop.run_in_executor(self._pool, self._servers.ask, request)
        except TimeoutError:
            self._servers.pass_over(request.server)
        finally:
            request.line.cut()  # without effect on a request that is over; otherwise it frees the thread
        raise VaultFailed(Trouble.TIMEOUT)

    def _carry_out(self, address: str, request: Request, seconds: float) -> Mapping[str, Any]:
        """A client of its own for every request: token and namespace are state of an hvac client."""
        client = hvac.Client(
            url=address,
            token=request.token,  # None would read VAULT_TOKEN and ~/.vault-token
            cert=(),  # None would read VAULT_CLIENT_CERT
            timeout=seconds,
            allow_redirects=False,  # hvac sends the token wherever a redirect leads
            session=self._session,
            adapter=_StrictAdapter,
            namespace=request.namespace or None,
        )
        try:
            with on(request.line):
                return mapping_in(request.ask(client))
        except VaultFailed as failed:
            failure = failed
        except Exception as error:  # noqa: BLE001 - hvac, requests and urllib3 raise at their will; all is mapped
            failure = VaultFailed(_trouble_of(error))
        raise failure


class _StrictAdapter(hvac.adapters.RawAdapter):  # type: ignore[misc]  # it brings no types
    """Every answer is a JSON object or a `VaultFailed`."""

    def get_login_token(self, response: Mapping[str, Any]) -> str:  # noqa: ARG002 - the base class asks for it
        """Never asked for: no login uses its own token."""
        raise AssertionError("no login uses its own token")

    def request(self, *args: Any, **kwargs: Any) -> Mapping[str, Any]:
        """The object in the body; an empty one for status 204."""
        response = super().request(*args, raise_exception=False, stream=True, **kwargs)
        with response:
            body: bytes = response.raw.read(MAX_BYTES + 1, decode_content=True)
        if len(body) > MAX_BYTES:
            raise VaultFailed(Trouble.MALFORMED)
        if response.status_code == 204:
            return {}
        if response.status_code != 200:
            raise VaultFailed(trouble_of_status(response.status_code, body))
        return json_in(body)


_TROUBLES: tuple[tuple[type[Exception], Trouble], ...] = (
    (requests.exceptions.SSLError, Trouble.UNTRUSTED),
    (requests.exceptions.ConnectTimeout, Trouble.UNREACHABLE),
    (requests.exceptions.Timeout, Trouble.TIMEOUT),
    (urllib3.exceptions.TimeoutError, Trouble.TIMEOUT),
    (TimeoutError, Trouble.TIMEOUT),
    (requests.exceptions.ConnectionError, Trouble.RESET),
    (urllib3.exceptions.ProtocolError, Trouble.RESET),
    (hvac.exceptions.VaultError, Trouble.REJECTED),
    (requests.exceptions.RequestException, Trouble.MALFORMED),
    (OSError, Trouble.UNREACHABLE),
)
"""The first that fits: a ConnectTimeout is a ConnectionError and a Timeout, a RequestException an OSError."""


def _trouble_of(error: Exception) -> Trouble:
    if _never_connected(error):
        return Trouble.UNREACHABLE
    if _is_no_http(error):
        return Trouble.MALFORMED
    return next((trouble for kind, trouble in _TROUBLES if isinstance(error, kind)), Trouble.MALFORMED)


def _never_connected(error: Exception) -> bool:
    inner = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(inner, urllib3.exceptions.NewConnectionError)


def _is_no_http(error: Exception) -> bool:
    """Whether what came is not HTTP. An answer that never came is called a bad one as well, and is none here."""
    inner = error.args[0].args if error.args and isinstance(error.args[0], urllib3.exceptions.ProtocolError) else ()
    kinds = http.client.BadStatusLine, http.client.LineTooLong, http.client.UnknownProtocol
    return any(isinstance(each, kinds) and not isinstance(each, ConnectionError) for each in inner)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _read_v1(client: hvac.Client, place: SecretPlace) -> Any:
    return client.secrets.kv.v1.read_secret(place.path, mount_point=place.mount)


def _read_v2(client: hvac.Client, place: SecretPlace) -> Any:
    kv = client.secrets.kv.v2
    return kv.read_secret_version(place.path, mount_point=place.mount, raise_on_deleted_version=True)


def _write_v1(client: hvac.Client, place: SecretPlace, values: Mapping[str, Any], _after: int) -> Any:
    kv = client.secrets.kv.v1  # without a method it would read first, to choose one
    return kv.create_or_update_secret(place.path, dict(values), method="PUT", mount_point=place.mount)


def _write_v2(client: hvac.Client, place: SecretPlace, values: Mapping[str, Any], after: int) -> Any:
    kv = client.secrets.kv.v2
    return kv.create_or_update_secret(place.path, dict(values), cas=after, mount_point=place.mount)


def _session(ca_file: Path | None) -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    session.verify = _authorities(ca_file)  # hvac's own `verify` is ignored when there is a session
    session.headers["Accept-Encoding"] = "identity"
    session.cookies.set_policy(http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))
    for scheme in ("http://", "https://"):
        adapter = requests.adapters.HTTPAdapter(pool_maxsize=THREADS, max_retries=0)
        make_cuttable(adapter.poolmanager)
        session.mount(scheme, adapter)
    return session


def _authorities(ca_file: Path | None) -> str | bool:
    """The certificates that may vouch. requests would take certifi's; the machine's own are meant, if it has any."""
    machine = ssl.get_default_verify_paths()
    return str(ca_file) if ca_file else machine.cafile or machine.capath or True
