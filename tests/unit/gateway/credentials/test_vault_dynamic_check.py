"""Mistakes in `vault-dynamic:` references, found without having a credential made."""

from collections.abc import Sequence

import pytest

from gateway.clients.vault_answers import Trouble, VaultFailed
from gateway.credentials.vault_dynamic import DynamicLender
from gateway.credentials.vault_dynamic_check import RENEW, REVOKE, examine_dynamic
from gateway.settings.vault import DynamicSettings, TokenAuth, VaultSettings

REFERENCE = "vault-dynamic:database/reader"


class Rights:
    """What the login may do. Every path is `root` until a test says otherwise."""

    def __init__(self, failure: Trouble | None = None, **paths: str) -> None:
        self.paths = paths
        self.failure = failure
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    async def __call__(self, namespace: str, paths: Sequence[str]) -> dict[str, frozenset[str]]:
        """By path."""
        self.asked.append((namespace, tuple(paths)))
        if self.failure is not None:
            raise VaultFailed(self.failure)
        return {path: frozenset({self.paths.get(path.rsplit("/", 1)[1], "root")}) for path in paths}


@pytest.fixture
def lender(tmp_path) -> DynamicLender:
    """One that knows one engine."""
    settings = VaultSettings(
        addresses=("http://127.0.0.1:8200",),
        auth=TokenAuth(kind="token", token_file=tmp_path / "token"),
        dynamic=DynamicSettings(engines=("database",)),
        namespaces={"other": "team/other"},
    )
    return DynamicLender(settings, None)  # type: ignore[arg-type]


async def test_what_can_be_lent_and_taken_back_is_right(lender: DynamicLender) -> None:
    """Asked in the tenant's namespace, and those of other schemes not at all."""
    rights = Rights(reader="read", revoke="update", renew="update")
    references = [("acme", REFERENCE), ("other", REFERENCE), ("acme", "vault:secret/x#y"), ("acme", REFERENCE)]
    assert await examine_dynamic(references, lender, rights) == ((), ())
    paths = ("database/creds/reader", REVOKE, RENEW)
    assert rights.asked == [("", paths), ("team/other", paths)]


@pytest.mark.parametrize(
    ("rights", "words"),
    [
        ({"reader": "deny"}, "no right to read database/creds/reader"),
        ({"revoke": "deny"}, "no right to update sys/leases/revoke; without it no lease ends"),
        ({"revoke": "read", "renew": "deny"}, "sys/leases/revoke and sys/leases/renew"),
    ],
)
async def test_a_right_that_is_missing_is_said(lender: DynamicLender, rights: dict[str, str], words: str) -> None:
    """Before the first call needs it."""
    report = await examine_dynamic([("acme", REFERENCE)], lender, Rights(**rights))
    assert words in report.problems[0]
    assert report.problems[0].startswith(f"{REFERENCE} (tenant acme): ")


@pytest.mark.parametrize("reference", ["vault-dynamic:other/reader", "vault-dynamic:database", "vault-dynamic:a/../b"])
async def test_a_reference_that_leads_nowhere_is_said(lender: DynamicLender, reference: str) -> None:
    """Nobody is asked for it."""
    rights = Rights()
    assert len((await examine_dynamic([("acme", reference)], lender, rights)).problems) == 1
    assert rights.asked == []


async def test_without_the_settings_every_reference_is_wrong() -> None:
    """And the sentence says which settings."""
    assert "vault.dynamic" in (await examine_dynamic([("acme", REFERENCE)], None, Rights())).problems[0]


async def test_a_server_that_cannot_be_asked_is_a_warning(lender: DynamicLender) -> None:
    """Nobody's mistake."""
    references = [("acme", "vault-dynamic:other/x"), ("acme", REFERENCE), ("acme", REFERENCE + "2")]
    report = await examine_dynamic(references, lender, Rights(Trouble.UNREACHABLE))
    assert len(report.problems) == len(report.warnings) == 1
