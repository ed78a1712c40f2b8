"""The demo's certificate is good for its host and for no other."""

import asyncio
import ssl
from pathlib import Path

import pytest

from gateway.cli.demo.certificate import server_context


async def _handshake(folder: Path, host: str) -> None:
    server = await asyncio.start_server(
        lambda _r, w: w.close(), "127.0.0.1", 0, ssl=server_context(folder, "localhost")
    )
    port = server.sockets[0].getsockname()[1]
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=host)
        writer.close()
    finally:
        server.close()


async def test_a_strict_client_accepts_it(tmp_path: Path) -> None:
    """Chain, name and extensions satisfy the strictest verification that there is."""
    await _handshake(tmp_path, "localhost")


async def test_it_is_for_no_other_host(tmp_path: Path) -> None:
    """The name counts."""
    with pytest.raises(ssl.SSLCertVerificationError):
        await _handshake(tmp_path, "elsewhere.example")


def test_no_key_is_left_behind(tmp_path: Path) -> None:
    """Only public parts stay on the disk."""
    server_context(tmp_path, "localhost")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ca.pem", "server.pem"]
    assert not any(b"PRIVATE" in path.read_bytes() for path in tmp_path.iterdir())
