"""Who keeps secrets, by what the settings name."""

from pathlib import Path
from typing import Any

import pytest
from fakes.clock import FakeClock
from fakes.served import settings_in

from adapters.base import Target
from gateway.audit.signing import FileSigner, TransitSigner
from gateway.credentials.vault import VaultSource
from gateway.errors import StartError
from gateway.registry.catalogue import Catalogue
from gateway.rows import Connection
from gateway.sealing.key_file import KeyFileSeal
from gateway.sealing.own_key import OwnKeySeal
from gateway.sealing.transit import TransitSeal
from gateway.secrecy import Secrecy, secrecy_of
from gateway.settings.parts import AuditSettings
from gateway.settings.sealing import SealingSettings, TransitSettings
from gateway.settings.store import StoreSettings
from gateway.settings.vault import VaultSettings
from gateway.telemetry import configure

SERVER = StoreSettings(url="postgresql://127.0.0.1:9/none", user="app")


def _vault(tmp_path: Path, **more: Any) -> VaultSettings:
    auth = {"kind": "token", "token_file": tmp_path / "token"}
    usual = {"addresses": ["http://127.0.0.1:9"], "auth": auth, "mounts": [{"path": "secret", "version": 2}]}
    return VaultSettings.model_validate(usual | more)


def _of(tmp_path: Path, **changes: Any) -> Secrecy:
    return secrecy_of(settings_in(tmp_path, **changes), FakeClock(), configure("warning"))


def test_without_a_vault_there_are_files_and_the_environment(tmp_path: Path) -> None:
    """And a key of the gateway's own to seal with; nobody signs."""
    one = _of(tmp_path)
    assert (set(one.sources), set(one.lenders)) == ({"env", "file"}, set())
    assert isinstance(one.seal, OwnKeySeal)
    assert one.signer is None
    assert one.vault is None
    assert one.startable == (one.seal,)


def test_a_vault_is_asked_for_what_the_settings_say_and_no_more(tmp_path: Path) -> None:
    """It lends only where engines are named; whoever asks it starts after it."""
    plain = _of(tmp_path, vault=_vault(tmp_path))
    assert (set(plain.sources), set(plain.lenders)) == ({"env", "file", "vault"}, set())
    lending = _of(tmp_path, vault=_vault(tmp_path, dynamic={"engines": ["database"]}))
    assert set(lending.lenders) == {"vault-dynamic"}
    assert lending.lenders["vault-dynamic"] is lending.sources["vault"]
    assert isinstance(lending.startable[0], VaultSource)
    assert lending.startable[1] is lending.seal
    assert lending.vault is not None
    assert lending.vault().leases_held == 0


def test_who_seals_and_who_signs_is_what_is_named(tmp_path: Path) -> None:
    """A key file, or the vault's transit engine."""
    by_file = _of(
        tmp_path,
        sealing=SealingSettings(key_file=tmp_path / "k"),
        audit=_checkpoints(key_file=tmp_path / "s"),
        store=SERVER,
    )
    assert isinstance(by_file.seal, KeyFileSeal)
    assert isinstance(by_file.signer, FileSigner)
    by_vault = _of(
        tmp_path,
        sealing=SealingSettings(transit=TransitSettings()),
        audit=_checkpoints(transit={}),
        vault=_vault(tmp_path),
    )
    assert isinstance(by_vault.seal, TransitSeal)
    assert isinstance(by_vault.signer, TransitSigner)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sealing": SealingSettings(transit=TransitSettings())}, "sealing by transit .* add a vault section"),
        ({"audit": AuditSettings.model_validate({"checkpoints": {"transit": {}}})}, "signing .* add a vault section"),
        ({"store": SERVER}, "replicas .* name sealing.key_file or sealing.transit"),
    ],
    ids=["seal", "signer", "replicas"],
)
def test_what_needs_something_that_nobody_named_does_not_start(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    """One sentence says what to add."""
    with pytest.raises(StartError, match=said):
        _of(tmp_path, **changes)


async def test_a_reference_into_a_vault_that_nobody_named_speaks_against_a_registry(tmp_path: Path) -> None:
    """Of either kind; others do not."""
    one = _of(tmp_path)
    assert await one.against(_catalogue("env:TOKEN")) == ()
    for reference in ("vault:secret/mail#token", "vault-dynamic:database/reader"):
        (problem,) = await one.against(_catalogue(reference))
        assert "add one" in problem


async def test_a_vault_that_cannot_be_asked_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Calls will say so; what the settings do not allow is a problem all the same."""
    one = _of(tmp_path, vault=_vault(tmp_path))
    assert await one.against(_catalogue("vault:secret/mail#token")) == ()
    assert "vault_unchecked" in capsys.readouterr().err
    assert await one.against(_catalogue("vault:other/mail#token"))


def test_nothing_secret_is_shown(tmp_path: Path) -> None:
    """What keeps secrets is left out, whatever its own form says."""
    assert "Seal" not in repr(_of(tmp_path))


def _checkpoints(**named: Any) -> AuditSettings:
    return AuditSettings.model_validate({"checkpoints": named})


def _catalogue(reference: str) -> Catalogue:
    target = Target(name="mail", hosts=("api.example",))
    mail = Connection(name="mail", tenant="acme", vendor="fake", target=target, credential=reference, policy_json=b"{}")
    return Catalogue(agents={}, tools=(), connections=(mail,), digest="")
