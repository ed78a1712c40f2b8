"""What stands beside the demo's gateway holds what it should, and no more."""

import json
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.cli.demo import backends
from gateway.cli.demo.backends import Backends, opa_config, running_backends, write_private


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Backends]:
    """OpenBao and Valkey, without OPA."""
    monkeypatch.setattr(backends, "opa_binary", lambda: None)
    with (
        tempfile.TemporaryDirectory(prefix="b-") as name,
        running_backends(Path(name), Path(name), "pass-word") as made,
    ):
        yield made


def _status(url: str, token: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={"X-Vault-Token": token}), timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_the_role_may_read_the_password_and_nothing_else(running: Backends) -> None:
    """It signs in with what the gateway is given."""
    login = json.dumps({"role_id": running.role_id, "secret_id": running.secret_id}).encode()
    with urllib.request.urlopen(f"{running.vault_address}/v1/auth/approle/login", login, timeout=5) as answer:
        token = json.loads(answer.read())["auth"]["client_token"]
    assert _status(f"{running.vault_address}/v1/secret/data/mail", token) == 200
    assert _status(f"{running.vault_address}/v1/secret/data/other", token) == 403
    assert _status(f"{running.vault_address}/v1/sys/auth", token) == 403
    assert b"pass-word" in running.kept_secret()


def test_nothing_was_counted_before_a_gateway_asked(running: Backends) -> None:
    """Valkey says so itself; without OPA the embedded engine is what decides."""
    assert (running.counted(), running.engine) == (0, "embedded")
    assert running.secret_id not in repr(running)


def test_opa_takes_signed_bundles_alone() -> None:
    """By the key of this run."""
    config = opa_config(Path("/b.tar.gz"), "PEM")
    assert config["bundles"]["authz"] == {"resource": "file:///b.tar.gz", "signing": {"keyid": "demo"}}
    assert config["keys"]["demo"]["key"] == "PEM"


def test_a_private_file_is_private(tmp_path: Path) -> None:
    """From its first moment."""
    write_private(tmp_path / "s", "x")
    assert ((tmp_path / "s").stat().st_mode & 0o777, (tmp_path / "s").read_text()) == (0o600, "x")
