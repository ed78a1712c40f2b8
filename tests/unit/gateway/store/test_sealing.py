"""What a seal promises, on the fake that tests use."""

import pytest
from fakes.seal import FakeSeal

from gateway.store.sealing import Seal, SealBroken


async def test_what_is_sealed_opens_at_its_place_alone() -> None:
    """And is not to be read meanwhile."""
    seal: Seal = FakeSeal()
    sealed = await seal.seal("acme", "k", b"private")
    assert b"private" not in sealed
    assert await seal.open("acme", "k", sealed) == b"private"
    for tenant, place in (("rival", "k"), ("acme", "other")):
        with pytest.raises(SealBroken):
            await seal.open(tenant, place, sealed)
