"""SPIFFE ids."""

import pytest

from gateway.identity.spiffe import claims_spiffe, wrong_spiffe_id


@pytest.mark.parametrize(
    "uri",
    [
        "spiffe://corp.example/agent",
        "spiffe://corp.example/ns/prod/sa/helper-1",
        "spiffe://a_b-c.9/A.b_c-d/...",
        "spiffe://10.0.0.1/x",
        f"spiffe://{'d' * 255}/x",
    ],
)
def test_a_workloads_id_is_one(uri):
    """Trust domain, path, the letters allowed."""
    assert wrong_spiffe_id(uri) == ""


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "https://corp.example/agent",
        "SPIFFE://corp.example/agent",
        "spiffe:/corp.example/agent",
        "spiffe:corp.example",
        "spiffe://Corp.example/agent",
        "spiffe:///agent",
        "spiffe://corp.example",
        "spiffe://corp.example/",
        "spiffe://corp.example/agent/",
        "spiffe://corp.example//agent",
        "spiffe://corp.example/./agent",
        "spiffe://corp.example/a/../agent",
        "spiffe://corp.example:443/agent",
        "spiffe://user@corp.example/agent",
        "spiffe://corp.example/agent?x=1",
        "spiffe://corp.example/agent#x",
        "spiffe://corp.example/agent%2Fx",
        "spiffe://corp.example/ag ent",
        "spiffe://corp.example/agent\n",
        "spiffe://corp.example\n/agent",
        "spiffe://corp.example/ägent",
        "spiffe://corp.example/{tenant}",
        "spiffe://cörp.example/agent",
        f"spiffe://{'d' * 256}/x",
        f"spiffe://corp.example/{'x' * 2048}",
    ],
)
def test_anything_else_is_none(uri):
    """A sentence says why."""
    assert wrong_spiffe_id(uri)


def test_what_wants_to_be_one_is_told_from_other_uris():
    """However badly it is written."""
    assert all(map(claims_spiffe, ("spiffe://a/b", "SPIFFE://A", "spiffe:x", "Spiffe:")))
    assert not any(map(claims_spiffe, ("https://spiffe:x", "", "spiff", "urn:spiffe:x")))
