"""The listener where the keys that verify are read."""

import io
import json
import ssl
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trustme
from fakes.clock import FakeClock
from fakes.scrapes import Reply, ask, connect

from gateway.errors import StartError
from gateway.settings.assertions import PublishSettings
from gateway.surfaces.jwks import PATH, JwksServer
from gateway.surfaces.sockets import bound_socket
from gateway.telemetry import configure

FIRST = b'{"keys":[{"kid":"a"}]}'


@dataclass
class Served:
    """One listener, what it serves and what it logged."""

    where: Path
    document: bytes
    stream: io.StringIO

    def read(self) -> bytes:
        """The document of the moment."""
        if not self.document:
            raise RuntimeError("secret-of-a-part")
        return self.document

    async def ask(self, path: str = PATH, *, method: str = "GET", **headers: str) -> Reply:
        """One request."""
        return await ask(self.where, path, method=method, **headers)

    @property
    def log(self) -> list[dict[str, Any]]:
        """What was logged."""
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path, for sockets."""
    with tempfile.TemporaryDirectory(prefix="k") as name:
        yield Path(name)


@pytest.fixture
async def served(folder: Path) -> AsyncIterator[Served]:
    """On a Unix socket."""
    made = Served(folder / "s", FIRST, io.StringIO())
    settings = PublishSettings(address=f"unix:{made.where}")
    server = JwksServer(settings, made.read, clock=FakeClock(), log=configure("info", made.stream))
    await server.start(bound_socket(settings.address))
    yield made
    await server.stop()


async def test_anybody_reads_the_set(served: Served) -> None:
    """200, what it is, and for how long a copy may be used."""
    reply = await served.ask()
    assert (reply.status, reply.body) == (200, FIRST)
    assert reply.headers["content-type"] == "application/jwk-set+json"
    assert reply.headers["cache-control"] == "public, max-age=60"


async def test_who_has_it_is_not_sent_it_again(served: Served) -> None:
    """304 as long as nothing changed; then the new one under another tag."""
    tag = (await served.ask()).headers["etag"]
    for given in (tag, f'"x", {tag}', f"W/{tag}", "*"):
        assert (await served.ask(if_none_match=given)).status == 304
    served.document = FIRST.replace(b"a", b"b")
    reply = await served.ask(if_none_match=tag)
    assert (reply.status, reply.body) == (200, served.document)
    assert reply.headers["etag"] != tag


async def test_a_head_without_a_body(served: Served) -> None:
    """The same tag as of the whole."""
    line = await connect(served.where)
    line.writer.write(f"HEAD {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head = await line.reader.readuntil(b"\r\n\r\n")
    await line.close()
    assert head.startswith(b"HTTP/1.1 200")
    assert (await served.ask()).headers["etag"].encode() in head


@pytest.mark.parametrize(
    "path", ["/", "/.well-known/", "/.well-known/jwks.json/", "/metrics", "//.well-known/jwks.json"]
)
async def test_there_is_nothing_else(served: Served, path: str) -> None:
    """404, and the connection ends."""
    reply = await served.ask(path)
    assert (reply.status, reply.body) == (404, b"")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
async def test_it_can_only_be_read(served: Served, method: str) -> None:
    """405 says what is allowed."""
    reply = await served.ask(method=method, content_length="0")
    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD")


async def test_a_set_that_cannot_be_made_is_500_and_tells_nothing(served: Served) -> None:
    """Type and place go to the log; the text of the error goes nowhere."""
    served.document = b""
    reply = await served.ask()
    assert (reply.status, reply.body) == (500, b"")
    assert served.log[0]["event"] == "jwks_failed"
    assert "secret-of-a-part" not in served.stream.getvalue()


async def test_what_is_no_http_is_logged_a_few_times(served: Served) -> None:
    """Strangers cannot fill the log."""
    for _ in range(12):
        line = await connect(served.where)
        line.writer.write(b"\x16\x03\x01 nonsense\r\n\r\n")
        assert (await line.reader.read()).startswith(b"HTTP/1.0 400")
        await line.close()
    assert [each["event"] for each in served.log] == ["jwks_connection_failed"] * 10


async def test_a_server_that_cannot_start_lets_go_of_its_socket(folder: Path) -> None:
    """No certificate, no listener: the port is free again."""
    tls = {"cert_file": folder / "no.pem", "key_file": folder / "no.pem"}
    settings = PublishSettings.model_validate({"address": "127.0.0.1:0", "tls": tls})
    server = JwksServer(settings, lambda: FIRST, clock=FakeClock(), log=configure("info", io.StringIO()))
    sock = bound_socket(settings.address)
    with pytest.raises(StartError, match=r"listener jwks: .*no\.pem cannot be read"):
        await server.start(sock)
    assert sock.fileno() == -1
    await server.stop()


async def test_over_tls_whoever_trusts_the_authority_reads_it(folder: Path) -> None:
    """Without a certificate of its own; in the clear there is no answer."""
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    issued.private_key_pem.write_to_path(str(folder / "key.pem"))
    issued.cert_chain_pems[0].write_to_path(str(folder / "cert.pem"))
    tls = {"cert_file": folder / "cert.pem", "key_file": folder / "key.pem"}
    settings, stream = PublishSettings.model_validate({"address": "127.0.0.1:0", "tls": tls}), io.StringIO()
    server = JwksServer(settings, lambda: FIRST, clock=FakeClock(), log=configure("info", stream))
    sock = bound_socket(settings.address)
    await server.start(sock)
    port, context = sock.getsockname()[1], ssl.create_default_context()
    authority.configure_trust(context)
    assert (await ask(port, PATH, context=context)).body == FIRST
    line = await connect(port)
    line.writer.write(f"GET {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert await line.ended()
    await line.close()
    await server.stop()
    assert json.loads(stream.getvalue())["why"] == "stranger"
