"""A real OpenBao that keeps what it is told on disk and unseals itself, and what tests put into it."""

import contextlib
import json
import secrets
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hvac
import requests

from gateway.cli.demo.daemons import Daemon, free_port

CONFIG = """
disable_mlock = true
ui = false
api_addr = "http://127.0.0.1:{port}"
cluster_addr = "http://127.0.0.1:{cluster_port}"
storage "raft" {{ path = "{folder}/data" node_id = "n1" performance_multiplier = 1 }}
listener "tcp" {{ address = "127.0.0.1:{port}" tls_disable = true }}
seal "static" {{ current_key_id = "k1" current_key = "file://{folder}/unseal.key" }}
audit "file" "to-file" {{ options {{ file_path = "{folder}/audit.log" }} }}
"""


class Bao:
    """One server in a folder; `daemon` kills and freezes it. `root` may do anything."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        (folder / "data").mkdir(parents=True)
        (folder / "unseal.key").write_bytes(secrets.token_bytes(32))
        config = CONFIG.format(folder=folder, port=self.port, cluster_port=free_port())
        (folder / "bao.hcl").write_text(config)
        binary = Path(sys.executable).with_name("bao")
        command = [str(binary), "server", f"-config={folder / 'bao.hcl'}"]
        self.daemon = Daemon("OpenBao", command, log=folder / "bao.log", is_up=self._answers)
        self.root = self.client("")
        self._is_new = True

    def start(self) -> None:
        """Return when it is unsealed and active; the first time it is set up."""
        self.daemon.start()
        if self._is_new:
            # A client that gives up earlier loses the only copy of the keys.
            made = self.client("", timeout=60).sys.initialize(recovery_shares=1, recovery_threshold=1)
            self.root.token = made["root_token"]
            self._is_new = False
        until(lambda: self._health() == 200)

    def client(self, token: str, *, namespace: str = "", timeout: float = 10) -> hvac.Client:
        """A client of the tests' own."""
        session = requests.Session()
        session.trust_env = False
        return hvac.Client(self.address, token=token, session=session, namespace=namespace or None, timeout=timeout)

    def mount(self, path: str, version: int, *, namespace: str = "") -> None:
        """A KV engine."""
        client = self.client(self.root.token, namespace=namespace)
        client.sys.enable_secrets_engine("kv", path=path, options={"version": str(version)})
        if version == 2:
            until(lambda: _is_upgraded(client, path))

    def put(self, mount: str, path: str, version: int = 2, *, namespace: str = "", **fields: Any) -> None:
        """A secret, or its next version."""
        kv = self.client(self.root.token, namespace=namespace).secrets.kv
        if version == 2:
            kv.v2.create_or_update_secret(path, secret=fields, mount_point=mount)
        else:
            kv.v1.create_or_update_secret(path, secret=fields, mount_point=mount)

    def delete(self, mount: str, path: str) -> None:
        """The newest version of a secret of KV version 2."""
        self.root.secrets.kv.v2.delete_latest_version_of_secret(path, mount_point=mount)

    def allow(self, policy: str, *paths: str, capabilities: str = '"read"') -> None:
        """A policy that lets its holder read these paths of the API, and nothing else when there are none."""
        rules = "\n".join(f'path "{path}" {{ capabilities = [{capabilities}] }}' for path in paths)
        self.root.sys.create_or_update_policy(policy, rules or 'path "nowhere" { capabilities = ["deny"] }')

    def role(self, name: str, policy: str, **options: Any) -> tuple[str, str]:
        """An AppRole: its role id and a secret id. `options` are the role's."""
        if "approle/" not in self.root.sys.list_auth_methods()["data"]:
            self.root.sys.enable_auth_method("approle")
        self.root.auth.approle.create_or_update_approle(name, token_policies=[policy], **options)
        return self.root.auth.approle.read_role_id(name)["data"]["role_id"], self.secret_id(name)

    def secret_id(self, role: str) -> str:
        """One more secret id."""
        made: str = self.root.auth.approle.generate_secret_id(role)["data"]["secret_id"]
        return made

    def token(self, policy: str, **options: Any) -> str:
        """A token of this policy."""
        made: str = self.root.auth.token.create(policies=[policy], **options)["auth"]["client_token"]
        return made

    def database(self, port: int, password: str, *, path: str = "database") -> None:
        """An engine that makes users of the PostgreSQL at this port, whose superuser has this password."""
        self.root.sys.enable_secrets_engine("database", path=path)
        connection = {
            "plugin_name": "postgresql-database-plugin",
            "allowed_roles": "*",
            "connection_url": f"postgresql://{{{{username}}}}:{{{{password}}}}@127.0.0.1:{port}/postgres?sslmode=disable",
            "username": "postgres",
            "password": password,
        }
        self.root.adapter.post(f"/v1/{path}/config/server", json=connection)

    def database_role(self, name: str, *, ttl: str = "1h", max_ttl: str = "24h", path: str = "database") -> None:
        """What users are made by. A new one may log in until its time is over."""
        make = "CREATE ROLE \"{{name}}\" LOGIN PASSWORD '{{password}}' VALID UNTIL '{{expiration}}'"
        role = {"db_name": "server", "creation_statements": [make], "default_ttl": ttl, "max_ttl": max_ttl}
        self.root.adapter.post(f"/v1/{path}/roles/{name}", json=role)

    def leases(self, prefix: str) -> list[str]:
        """The leases below a path such as `database/creds/reader` that have not been revoked."""
        try:
            found: list[str] = self.root.sys.list_leases(prefix)["data"]["keys"]
        except hvac.exceptions.InvalidPath:
            return []
        return found

    def transit(self, *keys: str, path: str = "transit") -> None:
        """A transit engine with these keys."""
        self.root.sys.enable_secrets_engine("transit", path=path)
        for key in keys:
            self.root.secrets.transit.create_key(key, mount_point=path)

    def asked(self) -> list[tuple[str, str]]:
        """Operation and path of every request so far, as its audit device has them."""
        lines = map(json.loads, (self.folder / "audit.log").read_text().splitlines())
        return [(line["request"]["operation"], line["request"]["path"]) for line in lines if line["type"] == "request"]

    def _answers(self) -> bool:
        return self._health() != 0

    def _health(self) -> int:
        """Status of its health; 0 when nobody answers."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{self.address}/v1/sys/health", timeout=1.0) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0


def _is_upgraded(client: hvac.Client, path: str) -> bool:
    """A new engine of version 2 refuses requests for a moment."""
    try:
        client.secrets.kv.v2.read_configuration(mount_point=path)
    except hvac.exceptions.InvalidRequest:
        return False
    return True


def until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    """Return when it holds, looked at fifty times a second."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to hold"
        threading.Event().wait(0.02)


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Bao]:
    """An OpenBao for the length of the block."""
    bao = Bao(folder)
    try:
        bao.start()
        yield bao
    finally:
        bao.daemon.kill()  # nobody wants its data any more
        bao.daemon.stop()
