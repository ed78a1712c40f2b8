"""Upstreams are asked what they can do, with what the settings let them have."""

from pathlib import Path

from fakes.offering import OfferingAdapter, offer

from adapters.base import AdapterError, ErrorKind, Happened, Target
from gateway.cli.upstreams import asked
from gateway.rows import Connection
from gateway.settings.load import Settings
from gateway.settings.parts import CredentialGrant


def connection(name: str = "docs", *, vendor: str = "making", credential: str = "") -> Connection:
    """One upstream."""
    target = Target(name=name, hosts=("docs.example",))
    return Connection(name=name, tenant="acme", vendor=vendor, target=target, credential=credential, policy_json=b"{}")


def settings(tmp_path: Path, *references: str) -> Settings:
    """That grant these references."""
    grants = (CredentialGrant(tenant="acme", references=references, hosts=("docs.example",)),) if references else ()
    return Settings(state_dir=tmp_path, credentials=grants)


async def test_what_an_upstream_offers_is_told_by_connection(tmp_path: Path) -> None:
    """In the order in which they were asked for."""
    adapter, heard = OfferingAdapter(offer("a")), []
    connections = [connection("one"), connection("two")]
    found = await asked(settings(tmp_path), connections, {"making": adapter}, on_asked=lambda: heard.append(1))
    assert [(one.connection.name, [each.name for each in one.offers]) for one in found] == [
        ("one", ["a"]),
        ("two", ["a"]),
    ]
    assert len(heard) == 2


async def test_a_credential_is_lent_as_to_a_call(tmp_path: Path) -> None:
    """From where its reference says."""
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text("tok-5d1c6a6e9b")
    reference = f"file:{tmp_path}/token"
    adapter = OfferingAdapter()
    await asked(settings(tmp_path, reference), [connection(credential=reference)], {"making": adapter})
    assert adapter.credentials == ["tok-5d1c6a6e9b"]


async def test_a_credential_that_is_not_granted_is_not_read(tmp_path: Path) -> None:
    """And nobody is asked."""
    adapter = OfferingAdapter()
    (found,) = await asked(settings(tmp_path), [connection(credential="env:HOME")], {"making": adapter})
    assert (found.offers, adapter.credentials) == ((), [])
    assert "settings" in found.problem


async def test_an_upstream_that_fails_says_why_and_stops_no_other(tmp_path: Path) -> None:
    """One sentence."""
    adapter = OfferingAdapter()
    adapter.failure = AdapterError(ErrorKind.UNAVAILABLE, "It is away.", happened=Happened.NO)
    (found,) = await asked(settings(tmp_path), [connection()], {"making": adapter})
    assert found.problem == "It is away."


async def test_an_adapter_that_breaks_stops_no_other(tmp_path: Path) -> None:
    """It should raise `AdapterError` alone."""
    adapter = OfferingAdapter()
    adapter.failure = KeyError("secret")  # type: ignore[assignment]
    (found,) = await asked(settings(tmp_path), [connection()], {"making": adapter})
    assert found.problem == "asking it failed in a way that it should not"


async def test_a_vendor_that_offers_nothing_says_so(tmp_path: Path) -> None:
    """It is no upstream."""
    (found,) = await asked(settings(tmp_path), [connection(vendor="mail")], {})
    assert found.problem == "mail says nothing of what it can do"
