"""Who may be told who calls, and where."""

from pathlib import Path
from typing import Any

import pydantic
import pytest

from gateway.settings.assertions import AssertionSettings, check_assertion

BILLING = {"name": "billing", "hosts": ["billing.corp.example:8443", "*.billing.corp.example"], "tenants": ["acme"]}
ANYBODY = {"name": "clock", "hosts": ["clock.corp.example"]}
KEY = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
TLS = {"cert_file": "c.pem", "key_file": "k.pem"}


def _settings(**changes: Any) -> AssertionSettings:
    usual = {"issuer": "https://tollhouse.corp.example", "key_file": "a.pem", "audiences": [BILLING, ANYBODY]}
    return AssertionSettings.model_validate(usual | changes)


def test_what_is_left_out() -> None:
    """A minute, nothing besides, and nowhere to read; paths count from the settings' own folder."""
    settings = _settings().anchored(Path("/srv"))
    assert (settings.seconds, settings.former, settings.publish) == (60, (), None)
    assert settings.key_file == Path("/srv/a.pem")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"transit": {}}, "name either key_file or transit"),
        ({"key_file": None}, "name either key_file or transit"),
        ({"issuer": ""}, "should match pattern"),
        ({"issuer": "two words"}, "should match pattern"),
        ({"seconds": 4}, "greater than or equal to 5"),
        ({"seconds": 301}, "less than or equal to 300"),
        ({"audiences": []}, "at least 1 item"),
        ({"audiences": [BILLING | {"hosts": []}]}, "at least 1 item"),
        ({"audiences": [BILLING | {"name": "two words"}]}, "should match pattern"),
        ({"audiences": [BILLING | {"host": "x"}]}, "Extra inputs"),
        ({"former": [KEY | {"d": "secret-scalar"}]}, "holds a private key"),
        ({"former": [KEY | {"crv": "X25519"}]}, "'Ed25519'"),
        ({"former": [KEY | {"x": "short"}]}, "should match pattern"),
        ({"former": [KEY | {"x": KEY["x"][:-1] + "p"}]}, "should match pattern"),
        ({"publish": {"address": "0.0.0.0:8444"}}, "beyond loopback verification keys need tls"),
        ({"publish": {"address": "keys"}}, "is neither unix:PATH nor ADDRESS:PORT"),
        ({"publish": {"address": "unix:k.sock", "tls": TLS}}, "a Unix socket takes no tls"),
        ({"publish": {"address": "unix:k.sock", "mode": "0666"}}, "would let every user of the machine in"),
    ],
)
def test_each_way_to_be_wrong(changes: dict[str, Any], words: str) -> None:
    """In one sentence that repeats no secret."""
    with pytest.raises(pydantic.ValidationError, match=words) as caught:
        _settings(**changes)
    assert "secret-scalar" not in str(caught.value.errors(include_input=False, include_context=False))


@pytest.mark.parametrize(
    "publish", [{"address": "127.0.0.1:8444"}, {"address": "unix:k.sock"}, {"address": "0.0.0.0:8444", "tls": TLS}]
)
def test_keys_may_be_served(publish: dict[str, Any]) -> None:
    """In the clear where nobody is on the way."""
    assert _settings(publish=publish).publish is not None


@pytest.mark.parametrize(
    ("audience", "hosts", "tenant"),
    [
        ("billing", ("billing.corp.example:8443",), "acme"),
        ("billing", ("eu.billing.corp.example:443", "billing.corp.example:8443"), "acme"),
        ("clock", ("clock.corp.example:1",), "globex"),
    ],
)
def test_what_may_be_told(audience: str, hosts: tuple[str, ...], tenant: str) -> None:
    """Where one entry covers the tenant and every host."""
    assert check_assertion(audience, hosts, tenant, _settings()) == []


@pytest.mark.parametrize(
    ("audience", "hosts", "tenant", "rule"),
    [
        ("billing", (), "acme", "assertion_hosts"),
        ("billing", ("billing.corp.example",), "acme", "assertion_hosts"),
        ("billing", ("billing.corp.example:8443", "evil.example"), "acme", "assertion_hosts"),
        ("billing", ("clock.corp.example",), "acme", "assertion_hosts"),
        ("billing", ("billing.corp.example:8443",), "globex", "assertion_audience"),
        ("ledger", ("billing.corp.example:8443",), "acme", "assertion_audience"),
        ("Billing", ("billing.corp.example:8443",), "acme", "assertion_audience"),
    ],
)
def test_what_may_not_be_told(audience: str, hosts: tuple[str, ...], tenant: str, rule: str) -> None:
    """A row cannot allow itself anything."""
    ((found, _),) = check_assertion(audience, hosts, tenant, _settings())
    assert found == rule


def test_without_the_section_nobody_is_told() -> None:
    """And it is said what is missing."""
    ((rule, message),) = check_assertion("billing", ("billing.corp.example",), "acme", None)
    assert rule == "assertion_settings"
    assert "no section assertions" in message


def test_two_entries_of_one_name_do_not_make_a_whole() -> None:
    """Each covers one of the hosts, and neither covers both."""
    halves = [{"name": "a", "hosts": ["one.example"]}, {"name": "a", "hosts": ["two.example"]}]
    settings = _settings(audiences=halves)
    assert check_assertion("a", ("one.example",), "acme", settings) == []
    assert check_assertion("a", ("one.example", "two.example"), "acme", settings)
