"""A row can name a reference and cannot allow itself one."""

import pytest

from gateway.registry.grants import check_credential
from gateway.settings.parts import CredentialGrant

GRANTS = (
    CredentialGrant(tenant="acme", references=("env:ACME_*",), hosts=("api.acme.example", "*.mail.example:587")),
    CredentialGrant(tenant="acme", references=("file:/run/secrets/acme/*",), hosts=("db.acme.example",)),
    CredentialGrant(tenant="other", references=("env:OTHER_*",), hosts=("evil.example",)),
)


def rules(text: str, *hosts: str, tenant: str = "acme") -> list[str]:
    """The rules that are broken."""
    return [rule for rule, _ in check_credential(text, hosts, tenant, GRANTS)]


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("env:ACME_TOKEN", ("api.acme.example",)),
        ("env:ACME_TOKEN", ("API.acme.example:443", "smtp.mail.example:587")),
        ("file:/run/secrets/acme/token", ("db.acme.example",)),
    ],
)
def test_what_one_grant_allows_passes(text: str, hosts: tuple[str, ...]) -> None:
    """The reference and every host."""
    assert rules(text, *hosts) == []


@pytest.mark.parametrize(
    ("text", "hosts", "rule"),
    [
        ("env:VAULT_TOKEN", ("api.acme.example",), "credential_grant"),
        ("env:OTHER_TOKEN", ("evil.example",), "credential_grant"),
        ("file:/run/secrets/acme/deep/token", ("db.acme.example",), "credential_grant"),
        ("file:/run/secrets/acme", ("db.acme.example",), "credential_grant"),
        ("env:ACME_TOKEN", (), "credential_hosts"),
        ("env:ACME_TOKEN", ("evil.example",), "credential_hosts"),
        ("env:ACME_TOKEN", ("api.acme.example", "evil.example"), "credential_hosts"),
        ("env:ACME_TOKEN", ("smtp.mail.example:25",), "credential_hosts"),
        ("env:ACME_TOKEN", ("mail.example:587",), "credential_hosts"),
        # The reference of one grant and the host of another.
        ("env:ACME_TOKEN", ("db.acme.example",), "credential_hosts"),
        ("file:/run/secrets/acme/../other/token", ("db.acme.example",), "credential_form"),
        ("file:token", ("db.acme.example",), "credential_form"),
        ("env:ACME-TOKEN", ("api.acme.example",), "credential_form"),
        ("hunter2", ("api.acme.example",), "credential_form"),
        ("plain:hunter2", ("api.acme.example",), "credential_form"),
        ("vault:kv", ("api.acme.example",), "credential_form"),
        ("vault:kv/acme/token", ("api.acme.example",), "credential_form"),
        ("vault:kv/../acme#token", ("api.acme.example",), "credential_form"),
        ("vault:kv/acme#token", ("api.acme.example",), "credential_grant"),
        ("vault-dynamic:db/role", ("api.acme.example",), "credential_grant"),
    ],
)
def test_everything_else_is_refused(text: str, hosts: tuple[str, ...], rule: str) -> None:
    """With one rule, and no sentence repeats what may be a secret."""
    ((found, sentence),) = check_credential(text, hosts, "acme", GRANTS)
    assert found == rule
    assert "hunter2" not in sentence


def test_without_grants_nothing_is_allowed() -> None:
    """Fail closed."""
    assert [rule for rule, _ in check_credential("env:A", ("h",), "acme", ())] == ["credential_grant"]
