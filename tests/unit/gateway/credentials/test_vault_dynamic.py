"""`vault-dynamic:` references as calls meet them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from fakes.vault import FakeVault

from gateway.clients.vault_answers import Trouble
from gateway.credentials.vault import VaultSource
from gateway.errors import Reason, Refusal
from gateway.settings.vault import DynamicSettings, TokenAuth, VaultMount, VaultSettings


class Kit:
    """A source over a fake vault with two engines."""

    def __init__(self, folder: Path, dynamic: DynamicSettings | None) -> None:
        (folder / "token").write_text("t-1")
        settings = VaultSettings(
            addresses=("http://127.0.0.1:8200",),
            auth=TokenAuth(kind="token", token_file=folder / "token"),
            mounts=(VaultMount(path="secret", version=2),),
            namespaces={"other": "team/other"},
            dynamic=dynamic,
        )
        self.vault = FakeVault()
        self.vault.tokens = {"t-1"}
        self.source = VaultSource(settings, self.vault, clock=FakeClock(), chance=lambda: 0.0)  # type: ignore[arg-type]

    async def refusal(self, name: str) -> Refusal:
        """What lending ends with; nothing of the reference is in its words."""
        with pytest.raises(Refusal) as caught:
            await self.source.lend("acme", name, 5.0)
        assert not any(part in caught.value.message for part in ("database", "reader", "hunter2"))
        return caught.value


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    """A fresh one, which in the end has given everything back."""
    made = Kit(tmp_path, DynamicSettings(engines=("database", "team/db")))
    yield made
    await made.source.stop()
    assert made.vault.leases == {}


async def test_a_call_gets_a_document_and_its_lease(kit: Kit) -> None:
    """Made for it, in the tenant's namespace."""
    lent = await kit.source.lend("acme", "database/reader", 5.0)
    other = await kit.source.lend("other", "team/db/reader", 5.0)
    assert lent.secrets[0].reveal() == '{"password":"hunter2-1","username":"v-user-1"}'
    assert lent.lease_id == "database/creds/reader/1"
    assert kit.vault.leases[other.lease_id] == ("team/other", "team/db", "reader")
    assert "hunter2" not in f"{lent!r}{lent}"
    assert kit.source.status().leases == (2, 0)


async def test_its_end_forgets_the_secrets_and_gives_the_lease_back_once(kit: Kit) -> None:
    """However often it is called."""
    lent = await kit.source.lend("acme", "database/reader", 5.0)
    for _ in range(3):
        lent.end()
    assert [secret.reveal() for secret in lent.secrets] == ["", "", ""]
    await kit.source.stop()
    assert kit.vault.count("revoke_lease") == 1


async def test_a_credential_that_cannot_be_used_is_given_back(kit: Kit) -> None:
    """It has no such field, or no text."""
    assert (await kit.refusal("database/reader#token")).reason is Reason.CREDENTIAL_MISSING
    kit.vault.lease_values = {"password": 5}
    assert (await kit.refusal("database/reader#password")).reason is Reason.CREDENTIAL_UNAVAILABLE
    await kit.source.stop()
    assert kit.vault.count("issue") == kit.vault.count("revoke_lease") == 2


@pytest.mark.parametrize("name", ["secret/reader", "database/deep/reader", "db/reader", "database", "database/../x"])
async def test_an_engine_that_the_settings_do_not_name_is_not_asked(kit: Kit, name: str) -> None:
    """Nor anything that is no reference."""
    assert (await kit.refusal(name)).reason is Reason.CREDENTIAL_NOT_ALLOWED
    assert "issue" not in kit.vault.asked


@pytest.mark.parametrize("trouble", [Trouble.DENIED, Trouble.UNREACHABLE, Trouble.ABSENT])
async def test_a_vault_that_gives_none(kit: Kit, trouble: Trouble) -> None:
    """In the words of every other credential."""
    kit.vault.failures["issue"] = trouble
    wanted = Reason.CREDENTIAL_MISSING if trouble.fault is None else Reason.CREDENTIAL_UNAVAILABLE
    assert (await kit.refusal("database/reader")).reason is wanted


async def test_without_settings_there_is_none(tmp_path: Path) -> None:
    """Fail closed."""
    kit = Kit(tmp_path, None)
    assert (await kit.refusal("database/reader")).reason is Reason.CREDENTIAL_NOT_ALLOWED
    assert kit.source.status().leases == (0, 0)
    report = await kit.source.check([("acme", "vault-dynamic:database/reader")])
    assert "add vault.dynamic" in report.problems[0]
    await kit.source.stop()
