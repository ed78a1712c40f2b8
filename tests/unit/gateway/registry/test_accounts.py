"""Connections by their account, of the registry of the moment."""

from adapters.base import Target
from gateway.registry.accounts import Accounts
from gateway.registry.catalogue import Catalogue
from gateway.rows import Connection


def connection(tenant: str, name: str, credential: str = "env:A") -> Connection:
    """A row."""
    target = Target(name=name, account=f"{tenant}/{name}")
    return Connection(
        name=name, tenant=tenant, vendor="calendar", target=target, credential=credential, policy_json=b"{}"
    )


def catalogue(*connections: Connection) -> Catalogue:
    """A registry of these."""
    return Catalogue(agents={}, tools=(), connections=connections, digest="sha256:00")


def test_one_is_found_by_tenant_and_name() -> None:
    """Two tenants may have connections of one name."""
    accounts = Accounts(lambda: one)
    one = catalogue(connection("acme", "drive"), connection("rival", "drive", "env:B"))
    assert accounts.find("acme/drive") == ("acme", "env:A")
    assert accounts.find("rival/drive") == ("rival", "env:B")
    assert accounts.find("acme/mail") is None
    assert accounts.find("drive") is None
    assert accounts.find("") is None


def test_a_new_registry_holds_from_its_first_moment() -> None:
    """A connection that names another credential, and one that is gone."""
    held = [catalogue(connection("acme", "drive"), connection("acme", "mail"))]
    accounts = Accounts(lambda: held[0])
    assert accounts.find("acme/mail") is not None
    held[0] = catalogue(connection("acme", "drive", "vault:secret/a#b"))
    assert accounts.find("acme/drive") == ("acme", "vault:secret/a#b")
    assert accounts.find("acme/mail") is None


def test_what_an_adapter_keeps_apart_is_of_the_same_connection() -> None:
    """Under a further word; a connection whose name has a blank is found as itself."""
    one = catalogue(connection("acme", "drive"), connection("acme", "drive two", "env:B"))
    accounts = Accounts(lambda: one)
    assert accounts.find("acme/drive 3f9c") == ("acme", "env:A")
    assert accounts.find("acme/drive two") == ("acme", "env:B")
    assert accounts.find("acme/drive two 3f9c") == ("acme", "env:B")
    assert accounts.find("acme/mail 3f9c") is None
    assert accounts.find(" 3f9c") is None
