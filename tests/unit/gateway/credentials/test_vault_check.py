"""Mistakes in references, in plain words, before the first call."""

from pathlib import Path

import pytest
from fakes.vault import FakeVault

from gateway.clients.vault_answers import SecretPlace, Trouble, VaultFailed
from gateway.credentials.vault_cache import Lifetimes, SecretCache
from gateway.credentials.vault_check import VaultReport, examine
from gateway.credentials.vault_places import Places
from gateway.settings.vault import TokenAuth, VaultMount, VaultSettings

SETTINGS = VaultSettings(
    addresses=("http://127.0.0.1:8200",),
    auth=TokenAuth(kind="token", token_file=Path("/run/token")),
    mounts=(
        VaultMount(path="secret", version=2),
        VaultMount(path="legacy", version=2),
        VaultMount(path="old", version=1),
    ),
)


def place(path: str, mount: str = "secret") -> SecretPlace:
    """Where a secret is."""
    return SecretPlace(namespace="", mount=mount, version=1 if mount == "old" else 2, path=path)


@pytest.fixture
def vault() -> FakeVault:
    """One that holds a secret of version 2, and one of version 1 that the settings take for 2."""
    fake = FakeVault()
    fake.tokens = {"t"}
    fake.engines = {"secret": 2, "legacy": 1, "old": 1}
    fake.secrets[place("acme/smtp")] = {"password": "hunter2", "port": 25}
    fake.denied = {place("other/smtp"), place("data/acme/smtp"), place("app", "legacy")}
    return fake


async def report(vault: FakeVault, *references: str) -> VaultReport:
    """What the check finds; no value is in it."""
    cache = SecretCache(
        lambda place: vault.read("t", place),
        Lifetimes(cache_seconds=60, max_stale_seconds=0, wait_seconds=1),
        monotonic=lambda: 0.0,
        chance=lambda: 0.0,
    )
    found = await examine(
        [("acme", text) for text in references],
        Places(SETTINGS),
        cache,
        lambda place: vault.engine_version("t", place.namespace, place.mount),
    )
    assert "hunter2" not in str(found)
    return found


async def test_what_resolves_is_no_problem(vault: FakeVault) -> None:
    """Nor are references of other schemes, nor the same one twice."""
    references = ("vault:secret/acme/smtp#password", "env:TOKEN", "vault:secret/acme/smtp#password")
    assert await report(vault, *references) == VaultReport((), ())
    assert vault.count("read") == 1


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("vault:secret/data/acme/smtp#password", "leave out data/, which belongs to the API: vault:secret/acme/smtp#"),
        ("vault:secret/metadata/acme/smtp#password", "leave out metadata/"),
        ("vault:legacy/app#password", "the KV engine at 'legacy' is version 1, and the settings say 2"),
        ("vault:old/app#password", "there is no such secret"),
        ("vault:elsewhere/app#password", "name the KV engine under vault.mounts"),
        ("vault:secret/acme/smtp#user", "no such field"),
        ("vault:secret/acme/smtp#port", "no such field that holds text"),
        ("vault:secret/acme/none#password", "there is no such secret"),
        ("vault:secret/other/smtp#password", "no right to read it"),
        ("vault:secret/../x#password", "must not hold empty, . or .. segments"),
    ],
)
async def test_each_mistake_has_a_sentence_of_its_own(vault: FakeVault, reference: str, words: str) -> None:
    """That names the reference."""
    found = await report(vault, reference)
    (problem,) = found.problems
    assert problem.startswith(f"{reference} (tenant acme): ")
    assert words in problem
    assert found.warnings == ()


async def test_a_mount_that_is_none(vault: FakeVault) -> None:
    """An engine of another kind, or nothing that we may see."""
    vault.engines["legacy"] = None
    (problem,) = (await report(vault, "vault:legacy/app#password")).problems
    assert "vault.mounts names the wrong path" in problem
    del vault.engines["legacy"]
    (problem,) = (await report(vault, "vault:legacy/app#password")).problems
    assert "or there is no such mount" in problem


async def test_a_deleted_version_is_told_from_none(vault: FakeVault, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be undeleted."""

    async def deleted(_token: str, _place: SecretPlace) -> None:
        raise VaultFailed(Trouble.DELETED)

    monkeypatch.setattr(vault, "read", deleted)
    (problem,) = (await report(vault, "vault:secret/acme/gone#password")).problems
    assert "newest version was deleted" in problem


@pytest.mark.parametrize("trouble", [Trouble.TIMEOUT, Trouble.UNREACHABLE, Trouble.SEALED, Trouble.LOGIN_DENIED])
async def test_a_server_that_cannot_be_asked_is_a_warning_and_ends_the_check(
    vault: FakeVault, trouble: Trouble
) -> None:
    """It is nobody's mistake, and asking on would cost a timeout each."""
    vault.failure = trouble
    found = await report(vault, "vault:secret/acme/smtp#password", "vault:secret/acme/none#password")
    assert found == VaultReport((), (f"vault: references are not checked: {trouble.sentence}",))
    assert vault.count("read") == 1
