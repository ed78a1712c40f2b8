"""Certificates that are checked before they are used, and looked at again when they change."""

import asyncio
import socket
import ssl
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import grpc
import grpc.aio
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from fakes.audit import until
from fakes.certificates import TlsAuthority
from fakes.clock import FakeClock
from fakes.echo import said, server_of, tcp_listener

from gateway.errors import StartError
from gateway.settings.listeners import TlsSettings

PEM, PKCS8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
PLAIN = serialization.NoEncryption()


async def problem_with(tls: TlsSettings) -> str:
    """Why a server with these files does not start."""
    with pytest.raises(StartError) as caught:
        await server_of(tcp_listener(tls=tls)).start()
    return caught.value.message


async def status_at(address: str, credentials: grpc.ChannelCredentials | None) -> grpc.StatusCode:
    """The status of a call there on a connection of its own."""
    try:
        await said(address, b"hi", credentials)
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


async def test_calls_go_over_tls_and_not_beside_it(tmp_path: Path) -> None:
    """Who trusts the authority is answered; another authority's client, and one without TLS, is not."""
    authority = TlsAuthority()
    server = server_of(tcp_listener(tls=authority.files(tmp_path)))
    await server.start()
    address = server.addresses["tcp"]
    clients = (authority.trusted(), TlsAuthority().trusted(), None)
    statuses = [await status_at(address, credentials) for credentials in clients]
    assert statuses == [grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAVAILABLE]
    await server.stop()


async def test_with_a_client_ca_nobody_comes_in_without_its_certificate(tmp_path: Path) -> None:
    """The right authority's client; not one of another authority, and not one that shows nothing."""
    authority, clients = TlsAuthority(), TlsAuthority()
    server = server_of(tcp_listener(tls=authority.files(tmp_path, client_ca=clients)))
    await server.start()
    right, wrong = clients.pair("agent.example"), authority.pair("agent.example")
    statuses = [await status_at(server.addresses["tcp"], authority.trusted(client)) for client in (right, wrong, None)]
    assert statuses == [grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAVAILABLE]
    await server.stop()


@pytest.mark.parametrize(("version", "gets"), [("TLSv1_1", "EOF"), ("TLSv1_2", "TLSv1.2"), ("TLSv1_3", "TLSv1.3")])
async def test_tls_older_than_1_2_is_refused(tmp_path: Path, version: str, gets: str) -> None:
    """By the server: it hangs up on a client that offers 1.1, and speaks with the same client otherwise."""
    server = server_of(tcp_listener(tls=TlsAuthority().files(tmp_path)))
    await server.start()
    assert gets in await asyncio.to_thread(_shaken_hands, server.addresses["tcp"], ssl.TLSVersion[version])
    await server.stop()


def _shaken_hands(address: str, version: ssl.TLSVersion) -> str:
    """Which TLS was agreed on, or why none was."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.set_alpn_protocols(["h2"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.maximum_version = context.minimum_version = version
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as plain:
        try:
            with context.wrap_socket(plain, server_hostname=host) as secured:
                return str(secured.version())
        except ssl.SSLError as error:
            return str(error)


# Rotation.


class Rotated:
    """A server whose certificates a test replaces."""

    def __init__(self, folder: Path, authority: TlsAuthority, client_ca: TlsAuthority | None = None) -> None:
        self.folder, self.authority, self.clock = folder, authority, FakeClock()
        self.events: list[tuple[str, Mapping[str, str]]] = []
        tls = authority.files(folder, client_ca=client_ca)
        self.server = server_of(tcp_listener(tls=tls), on_event=self._told, clock=self.clock)

    def _told(self, name: str, fields: Mapping[str, str]) -> None:
        self.events.append((name, fields))

    async def status(self, credentials: grpc.ChannelCredentials) -> grpc.StatusCode:
        """The status of a call, a moment after the last change."""
        self.clock.advance(1.1)
        return await status_at(self.server.addresses["tcp"], credentials)

    async def told(self, count: int) -> list[str]:
        """The names of the events so far, once there are so many: they come from another thread."""
        await asyncio.wait_for(until(lambda: len(self.events) >= count), 5)
        return [name for name, _ in self.events]


async def test_a_new_certificate_is_used_from_the_next_connection_on(tmp_path: Path) -> None:
    """Who trusts the new authority alone is answered, who trusts the former alone is not; an event says so."""
    old, new = TlsAuthority(), TlsAuthority()
    one = Rotated(tmp_path, old)
    await one.server.start()
    assert await one.status(old.trusted()) is grpc.StatusCode.OK
    assert one.events == []
    new.files(tmp_path)
    assert await one.status(new.trusted()) is grpc.StatusCode.OK
    assert await one.status(old.trusted()) is grpc.StatusCode.UNAVAILABLE
    assert await one.told(1) == ["certificate_rotated"]
    assert one.events[0][1] == {"listener": "tcp", "path": str(tmp_path / "cert.pem")}
    await one.server.stop()


async def test_an_authority_that_is_taken_away_vouches_for_nobody_any_more(tmp_path: Path) -> None:
    """Its clients are out at their next connection; those of the new one are in."""
    authority, old, new = TlsAuthority(), TlsAuthority(), TlsAuthority()
    one = Rotated(tmp_path, authority, client_ca=old)
    await one.server.start()
    assert await one.status(authority.trusted(old.pair("a.example"))) is grpc.StatusCode.OK
    (tmp_path / "ca.pem").write_bytes(new.pem)
    assert await one.status(authority.trusted(old.pair("a.example"))) is grpc.StatusCode.UNAVAILABLE
    assert await one.status(authority.trusted(new.pair("a.example"))) is grpc.StatusCode.OK
    await one.server.stop()


def _half_written(folder: Path) -> None:
    whole = (folder / "cert.pem").read_bytes()
    (folder / "cert.pem").write_bytes(whole[: len(whole) // 2])


def _cert_alone(folder: Path) -> None:
    key = (folder / "key.pem").read_bytes()
    TlsAuthority().files(folder)
    (folder / "key.pem").write_bytes(key)


def _emptied(folder: Path) -> None:
    (folder / "key.pem").write_bytes(b"")


def _gone(folder: Path) -> None:
    (folder / "key.pem").unlink()


def _no_authority(folder: Path) -> None:
    (folder / "ca.pem").write_text("none")


@pytest.mark.parametrize(
    "broken", [_half_written, _cert_alone, _emptied, _gone, _no_authority], ids=lambda f: f.__name__
)
async def test_a_broken_set_leaves_the_former_in_use(tmp_path: Path, broken: Callable[[Path], None]) -> None:
    """Also over several connections: one event that names a file, and no service lost. A good set then is taken."""
    authority, clients = TlsAuthority(), TlsAuthority()
    one = Rotated(tmp_path, authority, client_ca=clients)
    credentials = authority.trusted(clients.pair("a.example"))
    await one.server.start()
    broken(tmp_path)
    assert [await one.status(credentials) for _ in range(3)] == [grpc.StatusCode.OK] * 3
    assert await one.told(1) == ["certificate_unusable"]
    (_, fields) = one.events[0]
    assert fields["listener"] == "tcp"
    assert str(tmp_path) in fields["problem"]
    assert "KEY" not in fields["problem"]
    authority.files(tmp_path, client_ca=clients)
    assert await one.status(credentials) is grpc.StatusCode.OK
    assert await one.told(2) == ["certificate_unusable", "certificate_rotated"]
    await one.server.stop()


# Checks at the start.


def _key(kind: str) -> bytes:
    made = {
        "other": lambda: ec.generate_private_key(ec.SECP256R1()),
        "rsa": lambda: rsa.generate_private_key(65537, 2048),
        "ed25519": ed25519.Ed25519PrivateKey.generate,
        "curve": lambda: ec.generate_private_key(ec.SECP256K1()),
    }
    return made[kind]().private_bytes(PEM, PKCS8, PLAIN)


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("cert.pem", b"", "cert.pem holds no certificate, or a broken one (PEM)"),
        (
            "cert.pem",
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "cert.pem holds no certificate",
        ),
        ("key.pem", b"secret-bytes", "key.pem holds no private key, or a broken one (PEM)"),
        ("key.pem", _key("other"), "key.pem is not the key of the certificate in"),
        ("key.pem", _key("rsa"), "key.pem is not the key of the certificate in"),
        ("key.pem", _key("ed25519"), "key.pem is of a kind that gRPC's TLS does not take"),
        ("key.pem", _key("curve"), "key.pem is of a kind that gRPC's TLS does not take"),
        ("ca.pem", b"\xff", "ca.pem holds no certificate"),
    ],
)
async def test_files_that_cannot_be_used_are_a_sentence_at_the_start(
    tmp_path: Path, file: str, content: bytes, problem: str
) -> None:
    """It names the listener, the file and what is wrong, and holds nothing of the key."""
    tls = TlsAuthority().files(tmp_path, client_ca=TlsAuthority())
    (tmp_path / file).write_bytes(content)
    message = await problem_with(tls)
    assert message.startswith(f"listener tcp: {tmp_path}")
    assert problem in message
    assert "secret-bytes" not in message


async def test_a_file_that_is_not_there_is_a_sentence_at_the_start(tmp_path: Path) -> None:
    """With its path."""
    tls = TlsAuthority().files(tmp_path)
    tls.key_file.unlink()
    assert await problem_with(tls) == f"listener tcp: {tls.key_file} cannot be read: No such file or directory"


async def test_an_encrypted_key_is_a_sentence_at_the_start(tmp_path: Path) -> None:
    """Nobody is there to type its password."""
    tls = TlsAuthority().files(tmp_path)
    key = serialization.load_pem_private_key(tls.key_file.read_bytes(), None)
    tls.key_file.write_bytes(key.private_bytes(PEM, PKCS8, serialization.BestAvailableEncryption(b"pw")))
    assert "is encrypted" in await problem_with(tls)


async def test_a_chain_in_the_wrong_order_is_a_sentence_at_the_start(tmp_path: Path) -> None:
    """The commonest mistake, said as such."""
    authority = TlsAuthority()
    tls = authority.files(tmp_path)
    tls.cert_file.write_bytes(authority.pem + tls.cert_file.read_bytes())
    assert "is the key of a later certificate" in await problem_with(tls)


async def test_a_chain_in_the_right_order_starts(tmp_path: Path) -> None:
    """The server's own first, then its issuers."""
    authority = TlsAuthority()
    tls = authority.files(tmp_path)
    tls.cert_file.write_bytes(tls.cert_file.read_bytes() + authority.pem)
    server = server_of(tcp_listener(tls=tls))
    await server.start()
    assert await said(server.addresses["tcp"], b"hi", authority.trusted()) == b"hi"
    await server.stop()
