"""Credential references, and what allows them."""

import pytest

from gateway.references import BadReference, host_is_allowed, is_allowed, parse_dynamic, parse_reference, parse_vault


@pytest.mark.parametrize(
    "text",
    ["env:SMTP_PASSWORD", "file:/run/secrets/acme/smtp", "vault:kv/acme/smtp#password", "vault-dynamic:db/reader"],
)
def test_references_are_read_and_written_alike(text: str) -> None:
    """The reference's text is what was read."""
    assert str(parse_reference(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SMTP_PASSWORD",
        "env:",
        ":x",
        "ENV:X",
        "env:A B",
        "env:A/B",
        "env:*",
        "env:A\n",
        "file:relative/path",
        "file:/run/../etc/shadow",
        "file:/run/./x",
        "file:/run//x",
        "file:/run/",
        "file:/",
        "file:/run/\0x",
        "file:/run/*",
        "file:/run\\x",
        "hunter2hunter2",
        "file:/" + "x" * 1100,
        "vault:secret/app",
        "vault:secret#password",
        "vault:secret/#password",
        "vault:#password",
        "vault:/secret/app#password",
        "vault:secret//app#password",
        "vault:secret/./app#password",
        "vault:secret/../other/app#password",
        "vault:secret/acme/..#password",
        "vault:secret/.hidden#password",
        "vault:secret/%2e%2e/app#password",
        "vault:secret/app?version=1#password",
        "vault:secret/app#pass#word",
        "vault:secret/app#",
        "vault:secret/app#pass word",
        "vault:secret/app#a/b",
        "vault:secret/app;x#password",
        "vault:secret/äpp#password",
        "vault:secret/a p#password",
        "vault:secret/*#password",
        "vault:secret/app@1#password",
        "vault-dynamic:db",
        "vault-dynamic:db/",
        "vault-dynamic:/reader",
        "vault-dynamic:db//reader",
        "vault-dynamic:db/../reader",
        "vault-dynamic:db/reader#",
        "vault-dynamic:db/reader#a#b",
        "vault-dynamic:db/reader#a/b",
        "vault-dynamic:db/reader?x=1",
        "vault-dynamic:db/%2e%2e/reader",
        "vault-dynamic:db/rea der",
        "vault-dynamic:db/*",
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(text: str) -> None:
    """The message does not repeat the text: it may be a secret that somebody pasted."""
    with pytest.raises(BadReference) as caught:
        parse_reference(text)
    assert len(text) < 6 or text not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "pattern", "allowed"),
    [
        ("env:ACME_TOKEN", "env:ACME_TOKEN", True),
        ("env:ACME_TOKEN", "env:ACME_*", True),
        ("env:VAULT_TOKEN", "env:ACME_*", False),
        ("env:acme_token", "env:ACME_*", False),
        ("file:/run/secrets/acme/smtp", "file:/run/secrets/acme/*", True),
        ("file:/run/secrets/acme/deep/smtp", "file:/run/secrets/acme/*", False),
        ("file:/run/secrets/other/smtp", "file:/run/secrets/acme/*", False),
        ("file:/run/secrets/acme/smtp", "file:/run/secrets/*", False),
        ("file:/run/secrets/acme/smtp", "file:/run/secrets/*/smtp", True),
        ("file:/run/secrets/acme/smtp", "*", False),
        ("env:X", "*", False),
        ("env:X", "*:X", False),
        ("env:X", "e*:X", False),
        ("env:X", "env:.", False),
        ("file:/run/x", "file:/run/../run/x", False),
        ("file:/run/xy", "file:/run/x", False),
        ("file:/a/run/x", "file:/run/x", False),
        ("vault:kv/acme/smtp#password", "vault:kv/acme/*", True),
        ("vault:kv/acme/smtp#password", "vault:kv/acme/smtp#password", True),
        ("vault:kv/acme/smtp#password", "vault:kv/acme/smtp#*", True),
        ("vault:kv/acme/smtp#password", "vault:kv/acme/*#password", True),
        ("vault:kv/acme/smtp#password", "vault:kv/*/smtp#password", True),
        ("vault:kv/acme/smtp#password", "vault:kv/acme/*#user", False),
        ("vault:kv/acme/smtp#password", "vault:kv/acme/smtp", False),
        ("vault:kv/acme/smtp2#password", "vault:kv/acme/smtp#*", False),
        ("vault:kv/acme/deep/smtp#password", "vault:kv/acme/*", False),
        ("vault:kv/other/smtp#password", "vault:kv/acme/*", False),
        ("vault:kv/acme/smtp#password", "vault:*", False),
        ("vault-dynamic:db/acme-ro", "vault-dynamic:db/acme-*", True),
        ("vault-dynamic:db/acme-ro#password", "vault-dynamic:db/acme-*", True),
        ("vault-dynamic:db/acme-ro#password", "vault-dynamic:db/acme-ro", False),
        ("vault-dynamic:db/acme-ro#password", "vault-dynamic:db/acme-ro#*", True),
        ("vault-dynamic:db/acme-row", "vault-dynamic:db/acme-ro#*", False),
        ("vault-dynamic:db/other-ro", "vault-dynamic:db/acme-*", False),
        ("vault-dynamic:db/acme-ro", "vault:db/*", False),
        ("vault-dynamic:db/acme-ro", "vault*:db/*", False),
    ],
)
def test_a_star_does_not_cross_a_slash_nor_stand_for_a_scheme(text: str, pattern: str, allowed: bool) -> None:
    """A pattern is matched from end to end."""
    assert is_allowed(parse_reference(text), [pattern]) is allowed


def test_a_vault_reference_has_segments_and_a_field() -> None:
    """How many of the segments are the mount's is for the settings to say."""
    assert parse_vault("team/kv/acme/smtp-1#tls.key") == (("team", "kv", "acme", "smtp-1"), "tls.key")


def test_a_dynamic_reference_has_an_engine_a_role_and_perhaps_a_field() -> None:
    """The last segment is the role."""
    assert parse_dynamic("db/reader") == ("db", "reader", "")
    assert parse_dynamic("team/db/reader-1#password") == ("team/db", "reader-1", "password")


def test_no_pattern_allows_nothing() -> None:
    """Nobody is let in by default."""
    assert not is_allowed(parse_reference("env:X"), [])
    assert not host_is_allowed("a.example", [])


@pytest.mark.parametrize(
    ("host", "pattern", "allowed"),
    [
        ("smtp.corp.example", "smtp.corp.example", True),
        ("SMTP.corp.example.", "smtp.corp.example", True),
        ("smtp.corp.example:587", "smtp.corp.example", True),
        ("smtp.corp.example:587", "smtp.corp.example:587", True),
        ("smtp.corp.example:25", "smtp.corp.example:587", False),
        ("smtp.corp.example", "smtp.corp.example:587", False),
        ("a.corp.example", "*.corp.example", True),
        ("a.b.corp.example:443", "*.corp.example", True),
        ("a.corp.example:443", "*.corp.example:443", True),
        ("corp.example", "*.corp.example", False),
        ("evilcorp.example", "*.corp.example", False),
        ("a.corp.example.evil.test", "*.corp.example", False),
        ("evil.test/.corp.example", "*.corp.example", False),
        ("evil.test#.corp.example", "*.corp.example", False),
        ("evil.test\0.corp.example", "*.corp.example", False),
        ("evil@a.corp.example", "*.corp.example", False),
        ("127.0.0.1 .corp.example", "*.corp.example", False),
        ("a..corp.example", "*.corp.example", False),
        ("a.corp.example", "*", False),
        ("a.corp.example", "*.", False),
        ("a.corp.example", "a.*.example", False),
        ("", "*.corp.example", False),
        ("", "", False),
        ("[::1]:587", "[::1]:587", True),
        ("::1", "[::1]", True),
        ("[::1]:25", "[::1]:587", False),
        ("127.0.0.1:587", "127.0.0.1", True),
    ],
)
def test_hosts(host: str, pattern: str, allowed: bool) -> None:
    """Exact, or a subdomain by `*.`; a port binds when the pattern has one."""
    assert host_is_allowed(host, [pattern]) is allowed
