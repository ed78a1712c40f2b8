"""Which authorities a service's certificate may come from."""

import ssl
from pathlib import Path

import grpc
import pytest

from adapters.grpc_upstream.trust import Trust


async def test_authorities_are_read_once() -> None:
    """Those that are handed in, or the machine's."""
    for trust in (Trust(b"-----BEGIN CERTIFICATE-----"), Trust()):
        found = await trust.credentials()
        assert isinstance(found, grpc.ChannelCredentials)
        assert await trust.credentials() is found


async def test_a_machine_without_a_file_has_the_librarys_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It still checks who a service is."""
    paths = ssl.get_default_verify_paths()._replace(openssl_cafile=str(tmp_path / "none.pem"))
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)
    assert isinstance(await Trust().credentials(), grpc.ChannelCredentials)
