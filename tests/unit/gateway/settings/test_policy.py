"""Where the policy comes from."""

from pathlib import Path

import pytest

from gateway.settings.policy import BundleSettings, OpaSettings, PolicySettings


@pytest.mark.parametrize("url", ["unix:/run/opa/opa.sock", "https://opa.corp.example:8181", "http://127.0.0.1:8181"])
def test_engines_that_may_decide(url: str) -> None:
    """On this machine, or encrypted."""
    assert OpaSettings(url=url, bundle="authz").timeout_ms == 300


def test_a_bundle_is_a_file_or_an_address() -> None:
    """And always has a key."""
    key = Path("k.pem")
    assert BundleSettings(file=Path("b.tar.gz"), key_file=key).url == ""
    assert BundleSettings(url="https://bundles.corp.example/b.tar.gz", key_file=key).file is None


def test_the_built_in_pack_decides_when_nothing_is_named() -> None:
    """No paths, no bundle, no OPA."""
    assert (PolicySettings().paths, PolicySettings().bundle, PolicySettings().opa) == ((), None, None)
