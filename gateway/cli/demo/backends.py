"""What stands beside the gateway in the demo: OpenBao with the mail password, Valkey that counts, OPA that decides."""

import contextlib
import json
import os
import re
import secrets
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gateway.cli.demo.daemons import free_port, opa, opa_binary, openbao, valkey
from gateway.errors import StartError

SECRET = "mail"  # noqa: S105 - where it is, not what it is
FIELD = "password"
ROLE = "gateway"
BUNDLE = "authz"
KEY_ID = "demo"
_SECONDS = 10.0
_SCRIPT_CALLS = re.compile(rb"cmdstat_eval(?:sha)?:calls=(\d+)")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backends:
    """Where each is. `opa_socket` is None when this machine has no OPA: then the embedded engine decides."""

    vault_address: str
    role_id: str
    secret_id: str = field(repr=False)
    valkey_socket: Path
    opa_socket: Path | None
    root_token: str = field(repr=False)

    @property
    def engine(self) -> str:
        """What decides, as the audit calls it."""
        return "embedded" if self.opa_socket is None else "opa"

    def kept_secret(self, name: str = SECRET) -> bytes:
        """What OpenBao holds, as it says it: where the secret is, so that a search for it can be seen to work."""
        return _ask("GET", f"{self.vault_address}/v1/secret/data/{name}", self.root_token)

    def for_another(self, role: str, secrets: Mapping[str, str]) -> "Backends":
        """The same for another gateway, that signs in as this role and may read these secrets alone, each the `FIELD`
        under its name.
        """
        role_id, secret_id = _fill(self.vault_address, self.root_token, role, secrets)
        return replace(self, role_id=role_id, secret_id=secret_id)

    def counted(self) -> int:
        """How often Valkey was asked whether a call is within its limits."""
        with socket.socket(socket.AF_UNIX) as client, client.makefile("rb") as answer:
            client.settimeout(_SECONDS)
            client.connect(str(self.valkey_socket))
            client.sendall(b"INFO commandstats\r\n")
            told = answer.read(int(answer.readline().removeprefix(b"$")))
        return sum(map(int, _SCRIPT_CALLS.findall(told)))


@contextlib.contextmanager
def running_backends(folder: Path, sockets: Path, password: str) -> Iterator[Backends]:
    """All of them, as processes of this machine that end with the block. Logs go to `folder`. Raises `StartError`."""
    root_token, port, binary = secrets.token_urlsafe(24), free_port(), opa_binary()
    with contextlib.ExitStack() as stack:
        stack.enter_context(openbao(folder, port, root_token=root_token))
        address = f"http://127.0.0.1:{port}"
        _ask("POST", f"{address}/v1/sys/auth/approle", root_token, {"type": "approle"})
        role_id, secret_id = _fill(address, root_token, ROLE, {SECRET: password})
        stack.enter_context(valkey(folder, sockets / "valkey.sock"))
        opa_socket = None
        if binary is not None:
            opa_socket = sockets / "opa.sock"
            config = folder.parent / "opa.json"
            stack.enter_context(opa(folder, opa_socket, "--config-file", str(config), binary=binary))
        yield Backends(
            vault_address=address,
            role_id=role_id,
            secret_id=secret_id,
            valkey_socket=sockets / "valkey.sock",
            opa_socket=opa_socket,
            root_token=root_token,
        )


def opa_config(bundle: Path, public_key: str) -> Json:
    """OPA's configuration: one bundle, which must be signed by our key."""
    return {
        "bundles": {BUNDLE: {"resource": f"file://{bundle}", "signing": {"keyid": KEY_ID}}},
        "keys": {KEY_ID: {"algorithm": "ES256", "key": public_key}},
        "status": {"prometheus": True},
    }


def _fill(address: str, token: str, role: str, secrets: Mapping[str, str]) -> tuple[str, str]:
    """Put the secrets where the role may read them, and nothing else; the role id and secret id to do so."""
    rules = [f'path "secret/data/{name}" {{ capabilities = ["read"] }}' for name in secrets]
    terms = {"token_policies": role, "token_period": "1h", "secret_id_num_uses": 10}
    for name, secret in secrets.items():
        _ask("POST", f"{address}/v1/secret/data/{name}", token, {"data": {FIELD: secret}})
    _ask("POST", f"{address}/v1/sys/policies/acl/{role}", token, {"policy": "\n".join(rules)})
    _ask("POST", f"{address}/v1/auth/approle/role/{role}", token, terms)
    role_id = json.loads(_ask("GET", f"{address}/v1/auth/approle/role/{role}/role-id", token))
    secret_id = json.loads(_ask("POST", f"{address}/v1/auth/approle/role/{role}/secret-id", token, {}))
    return role_id["data"]["role_id"], secret_id["data"]["secret_id"]


def _ask(method: str, url: str, token: str, body: Json | None = None) -> bytes:
    """OpenBao's answer. The URL is ours and on loopback; a proxy of the environment is not asked."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"X-Vault-Token": token}, method=method)  # noqa: S310 - see above
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_SECONDS) as response:
            answer: bytes = response.read()
            return answer
    except (urllib.error.URLError, OSError) as error:
        raise StartError(f"the demo's OpenBao did not take what it was told ({type(error).__name__})") from error


def write_private(path: Path, text: str) -> None:
    """A file that nobody else can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
