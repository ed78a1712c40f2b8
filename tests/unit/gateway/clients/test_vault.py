"""A vault's servers as the client meets them: good, bad and worse."""

import asyncio
import json
import socket
import ssl
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
import requests
import trustme
from fakes.vault import Answer, FakeVaultServer, Seen, auth, kv2

from gateway.cli.demo.daemons import free_port
from gateway.clients.vault import MAX_BYTES, THREADS, VaultClient
from gateway.clients.vault_answers import SecretPlace, Trouble, VaultFailed

PLACE = SecretPlace(namespace="", mount="secret", version=2, path="acme/smtp")
TOKEN = "s.the-token"


@pytest.fixture
async def opened() -> AsyncIterator[Callable[..., VaultClient]]:
    """Makes clients and closes them."""
    clients: list[VaultClient] = []

    def make(*addresses: str, **options: object) -> VaultClient:
        clients.append(VaultClient(addresses, **{"timeout_seconds": 2.0, **options}))  # type: ignore[arg-type]
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def serve() -> AsyncIterator[Callable[..., FakeVaultServer]]:
    """Starts servers and ends them."""
    with ExitStack() as stack:
        yield lambda *options: stack.enter_context(FakeVaultServer(*options))


class Certificate(NamedTuple):
    """What a server of 127.0.0.1 shows, and the file with who vouches for it."""

    server: ssl.SSLContext
    authority: Path


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Of an authority that this test has made up."""
    authority = trustme.CA()
    path = tmp_path_factory.mktemp("tls") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return Certificate(context, path)


async def trouble(client: VaultClient) -> Trouble:
    """What reading ends with; neither the token nor the path nor a cause travels with it."""
    with pytest.raises(VaultFailed) as caught:
        await client.read(TOKEN, PLACE)
    text = "".join(traceback.format_exception(caught.value))
    assert TOKEN not in text
    assert "acme/smtp" not in text
    assert "127.0.0.1" not in text
    return caught.value.trouble


async def test_a_secret_of_version_2(opened, serve) -> None:
    """With token and namespace in headers, and data/ in the path."""
    server = serve(lambda _seen: kv2(password="hunter2"))
    place = SecretPlace(namespace="team/a", mount="team/kv", version=2, path="acme/smtp")
    fields = await opened(server.address).read(TOKEN, place)
    assert fields == ({"password": "hunter2"}, 0.0, 1)
    (seen,) = server.seen
    assert seen.path == "/v1/team/kv/data/acme/smtp"
    assert (seen.headers["X-Vault-Token"], seen.headers["X-Vault-Namespace"]) == (TOKEN, "team/a")


async def test_a_secret_of_version_1_says_how_long_it_may_be_used(opened, serve) -> None:
    """The engine calls it a lease."""
    server = serve(lambda _seen: Answer(body=b'{"lease_duration": 30, "data": {"password": "hunter2"}}'))
    place = SecretPlace(namespace="", mount="kv", version=1, path="acme/smtp")
    assert await opened(server.address).read(TOKEN, place) == ({"password": "hunter2"}, 30.0, 0)
    assert server.paths() == ["/v1/kv/acme/smtp"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(opened, serve, status: int) -> None:
    """The token would go wherever it leads."""
    thief = serve(lambda _seen: kv2(password="hunter2"))
    server = serve(lambda seen: Answer(status, b"", {"Location": thief.address + seen.path}))
    assert await trouble(opened(server.address)) in (Trouble.SEALED, Trouble.MALFORMED)
    assert thief.seen == []


@pytest.mark.parametrize(
    "body", [b"<html>", b"", b"[]", b'"x"', b"{}", b'{"data": null}', b'{"data": {"data": null}}', b'{"data": 5}']
)
async def test_what_is_no_secret_is_malformed(opened, serve, body: bytes) -> None:
    """With status 200 too."""
    assert await trouble(opened(serve(lambda _seen: Answer(body=body)).address)) is Trouble.MALFORMED


async def test_too_much_is_malformed(opened, serve) -> None:
    """Nobody's secret is as large."""
    server = serve(lambda _seen: Answer(body=b" " * (MAX_BYTES + 1)))
    assert await trouble(opened(server.address)) is Trouble.MALFORMED


@pytest.mark.parametrize(
    ("status", "want"),
    [(400, Trouble.REJECTED), (403, Trouble.DENIED), (404, Trouble.ABSENT), (429, Trouble.BUSY), (503, Trouble.SEALED)],
)
async def test_a_status_has_its_meaning(opened, serve, status: int, want: Trouble) -> None:
    """And what the server says about it is not repeated."""
    body = json.dumps({"errors": [f"no {TOKEN} for acme/smtp"]}).encode()
    assert await trouble(opened(serve(lambda _seen: Answer(status, body)).address)) is want


@pytest.mark.parametrize("raw", [b"\x00\xff garbage\r\n\r\n", b"HTTP/9.9 200 OK\r\n\r\n", b"x" * 100_000])
async def test_what_is_no_http_is_malformed(opened, serve, raw: bytes) -> None:
    """The connection stands, so it was not reset."""
    server = serve(lambda _seen: Answer(body=raw, is_raw=True))
    assert await trouble(opened(server.address)) is Trouble.MALFORMED


async def test_a_connection_that_breaks_is_reset(opened, serve) -> None:
    """After it was made."""
    assert await trouble(opened(serve(lambda _seen: None).address)) is Trouble.RESET


async def test_nobody_there_is_unreachable(opened) -> None:
    """At once."""
    assert await trouble(opened(f"http://127.0.0.1:{free_port()}")) is Trouble.UNREACHABLE


async def test_what_does_not_speak_tls_is_not_trusted(opened, serve) -> None:
    """Whatever it is."""
    server = serve(lambda _seen: kv2(password="hunter2"))
    assert await trouble(opened(server.address.replace("http:", "https:"))) is Trouble.UNTRUSTED
    assert server.seen == []


async def test_a_missing_ca_file_is_an_answer_too(opened, tmp_path: Path) -> None:
    """Not an exception of the library."""
    client = opened(f"https://127.0.0.1:{free_port()}", ca_file=tmp_path / "none.pem")
    assert await trouble(client) is Trouble.UNREACHABLE


@pytest.mark.parametrize(
    "answer",
    [
        Answer(body=b'{"data": {"data": {"password": "hunter2"}}}', drip_seconds=0.05),
        Answer(body=b"HTTP/1.1 200 OK\r\nX-Endless: " + b"x" * 1000, drip_seconds=0.05, is_raw=True),
    ],
)
@pytest.mark.parametrize("is_encrypted", [False, True])
async def test_a_server_that_drips_costs_no_more_than_the_deadline(
    opened, serve, certificate: Certificate, answer: Answer, is_encrypted: bool
) -> None:
    """Each byte comes in time. The threads give up with their callers, so that they do not run out."""
    server = serve(lambda _seen: answer, certificate.server if is_encrypted else None)
    client = opened(server.address, timeout_seconds=0.3, ca_file=certificate.authority)
    began = time.monotonic()
    for _ in range(2):
        assert set(await asyncio.gather(*(trouble(client) for _ in range(10)))) == {Trouble.TIMEOUT}
    assert time.monotonic() - began < 1.5
    server.answer = lambda _seen: kv2(password="hunter2")
    assert (await client.read(TOKEN, PLACE)).values == {"password": "hunter2"}


async def test_the_next_request_does_not_begin_with_a_server_that_drips(opened, serve) -> None:
    """It has had its chance."""
    bad = serve(lambda _seen: Answer(body=b"x" * 1000, drip_seconds=0.05))
    good = serve(lambda _seen: kv2(password="hunter2"))
    client = opened(bad.address, good.address, timeout_seconds=0.3)
    assert await trouble(client) is Trouble.TIMEOUT
    assert (await client.read(TOKEN, PLACE)).values == {"password": "hunter2"}


async def test_tls_with_an_authority_of_our_own(opened, serve, certificate: Certificate) -> None:
    """Which vouches, and nobody else: the machine's own do not."""
    server = serve(lambda _seen: kv2(password="hunter2"), certificate.server)
    client = opened(server.address, ca_file=certificate.authority)
    assert (await client.read(TOKEN, PLACE)).values == {"password": "hunter2"}
    assert await trouble(opened(server.address)) is Trouble.UNTRUSTED
    assert len(server.seen) == 1


async def test_the_next_server_is_asked_and_remembered(opened, serve) -> None:
    """A dead one costs nothing from then on."""
    sealed = serve(lambda _seen: Answer(503))
    good = serve(lambda _seen: kv2(password="hunter2"))
    client = opened(f"http://127.0.0.1:{free_port()}", sealed.address, good.address)
    for _ in range(3):
        assert (await client.read(TOKEN, PLACE)).values == {"password": "hunter2"}
    assert len(sealed.seen) == 1
    assert len(good.seen) == 3


async def test_a_request_that_found_no_thread_says_nothing_of_any_server(opened, serve) -> None:
    """It was not asked, so it is asked first as before."""
    first, second = serve(lambda _seen: kv2(password="hunter2")), serve(lambda _seen: kv2(password="hunter2"))
    client = opened(first.address, second.address, timeout_seconds=0.2)
    busy = threading.Event()
    try:
        for _ in range(THREADS):
            client._pool.submit(busy.wait)
        assert await trouble(client) is Trouble.TIMEOUT
    finally:
        busy.set()
    await client.read(TOKEN, PLACE)
    assert (len(first.seen), second.seen) == (1, [])


async def test_a_no_is_not_taken_to_another_server(opened, serve) -> None:
    """It holds for all of one cluster."""
    one, other = serve(lambda _seen: Answer(403)), serve(lambda _seen: kv2(password="hunter2"))
    assert await trouble(opened(one.address, other.address)) is Trouble.DENIED
    assert other.seen == []


async def test_a_frozen_server_leaves_time_for_the_next(opened, serve) -> None:
    """The deadline is shared."""
    good = serve(lambda _seen: kv2(password="hunter2"))
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        client = opened(f"http://127.0.0.1:{frozen.getsockname()[1]}", good.address, timeout_seconds=0.6)
        assert (await client.read(TOKEN, PLACE)).values == {"password": "hunter2"}


@pytest.mark.parametrize("answer", [None, Answer(500), Answer(body=b"garbage")])
async def test_a_login_that_may_have_been_carried_out_is_not_sent_twice(opened, serve, answer) -> None:
    """A secret id has a number of uses."""
    one, other = serve(lambda _seen: answer), serve(lambda _seen: auth())
    with pytest.raises(VaultFailed):
        await opened(one.address, other.address).log_in_by_approle("approle", "role", "secret")
    assert other.seen == []


async def test_a_login_goes_to_the_next_server_when_it_was_surely_not_done(opened, serve) -> None:
    """A sealed server has done nothing."""
    one, other = serve(lambda _seen: Answer(503)), serve(lambda _seen: auth("s.new", 60))
    client = opened(one.address, other.address, namespace="team")
    token = await client.log_in_by_approle("team-role", "role", "secret")
    assert (token.value, token.seconds) == ("s.new", 60.0)
    (seen,) = other.seen
    assert (seen.path, json.loads(seen.body)) == (
        "/v1/auth/team-role/login",
        {"role_id": "role", "secret_id": "secret"},
    )
    assert seen.headers["X-Vault-Namespace"] == "team"
    assert "X-Vault-Token" not in seen.headers


@pytest.mark.parametrize("status", [400, 403, 404])
async def test_a_refused_login_is_told_from_a_refused_read(opened, serve, status: int) -> None:
    """It is not about the secret."""
    client = opened(serve(lambda _seen: Answer(status)).address)
    with pytest.raises(VaultFailed) as caught:
        await client.log_in_by_kubernetes("kubernetes", "gateway", "a.b.c")
    assert caught.value.trouble is Trouble.LOGIN_DENIED


@pytest.mark.parametrize(
    ("data", "version"),
    [
        ({"type": "kv", "path": "team/kv/", "options": {"version": "2"}}, 2),
        ({"type": "kv", "path": "team/kv/", "options": {"version": "1"}}, 1),
        ({"type": "kv", "path": "team/kv/", "options": None}, 1),
        ({"type": "kv", "path": "team/", "options": {"version": "2"}}, None),
        ({"type": "transit", "path": "team/kv/", "options": None}, None),
    ],
)
async def test_what_is_mounted_there(opened, serve, data: dict[str, object], version: int | None) -> None:
    """A KV engine at exactly this path, or none."""
    client = opened(serve(lambda _seen: Answer(body=json.dumps({"data": data}).encode())).address)
    assert await client.engine_version(TOKEN, "", "team/kv") == version


async def test_nothing_ambient_is_honoured(opened, serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No VAULT_* variable, no ~/.vault-token, no proxy, no .netrc, no CA bundle of requests."""
    trap = serve(lambda _seen: Answer(502))
    (tmp_path / ".vault-token").write_text("s.ambient")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login ambient password ambient\n")
    (tmp_path / ".netrc").chmod(0o600)
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "VAULT_ADDR"):
        monkeypatch.setenv(name, trap.address)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VAULT_TOKEN", "s.ambient")
    monkeypatch.setenv("VAULT_NAMESPACE", "ambient")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)

    def answer(seen: Seen) -> Answer:
        return auth() if "login" in seen.path else kv2(password="hunter2")

    server = serve(answer)
    client = opened(server.address)
    await client.log_in_by_approle("approle", "role", "secret")
    await client.read(TOKEN, PLACE)
    assert trap.seen == []
    assert "ambient" not in str(server.seen)
    assert "Authorization" not in str(server.seen)


async def test_cookies_are_not_kept(opened, serve) -> None:
    """They would tie one tenant's request to another's."""
    server = serve(lambda _seen: kv2(password="hunter2")._replace(headers={"Set-Cookie": "a=b; Path=/"}))
    client = opened(server.address)
    for _ in range(2):
        await client.read(TOKEN, PLACE)
    assert "Cookie" not in server.seen[1].headers


def exceptions_of_requests() -> list[type[Exception]]:
    """All that the library may raise."""
    known = vars(requests.exceptions).values()
    return [kind for kind in known if isinstance(kind, type) and issubclass(kind, OSError | ValueError)]


@pytest.mark.parametrize("kind", exceptions_of_requests())
async def test_every_exception_of_requests_stops_here(opened, kind: type[Exception], monkeypatch) -> None:
    """As trouble of ours, without its text."""

    def fail(*_arguments: object, **_options: object) -> None:
        raise kind("http://127.0.0.1/v1/secret/data/acme/smtp")

    monkeypatch.setattr(requests.Session, "request", fail)
    assert (await trouble(opened("http://127.0.0.1:1"))).may_be_stale


async def test_a_closed_client_does_not_wait_for_a_frozen_server(opened) -> None:
    """Nor does the process that ends."""
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        client = opened(f"http://127.0.0.1:{frozen.getsockname()[1]}", timeout_seconds=0.3)
        assert await trouble(client) is Trouble.TIMEOUT
        began = time.monotonic()
        client.close()
        assert time.monotonic() - began < 0.2


LEASE = {"lease_id": "db/creds/r/1", "lease_duration": 60, "renewable": True, "data": {"password": "hunter2"}}


def answering(**body: object) -> Callable[[Seen], Answer]:
    """The same answer to everything."""
    return lambda _seen: Answer(body=json.dumps(body).encode())


async def test_a_lease_is_issued_renewed_and_revoked(opened, serve) -> None:
    """In the namespace that its engine is in."""
    server = serve(answering(**LEASE))
    client = opened(server.address)
    lease = await client.issue(TOKEN, "team/a", "team/db", "reader")
    assert lease == ("db/creds/r/1", {"password": "hunter2"}, 60.0, True)
    await client.renew_lease(TOKEN, "team/a", lease.id, 12.3)
    server.answer = lambda _seen: Answer(204, b"")
    await client.revoke_lease(TOKEN, "team/a", lease.id)
    issue, renew, revoke = server.seen
    assert (issue.method, issue.path) == ("GET", "/v1/team/db/creds/reader")
    assert json.loads(renew.body) == {"lease_id": "db/creds/r/1", "increment": 13}
    assert (revoke.path, json.loads(revoke.body)) == (
        "/v1/sys/leases/revoke",
        {"lease_id": "db/creds/r/1", "sync": True},
    )
    assert {(seen.headers["X-Vault-Token"], seen.headers["X-Vault-Namespace"]) for seen in server.seen} == {
        (TOKEN, "team/a")
    }


async def test_a_credential_without_a_lease_is_none(opened, serve) -> None:
    """Nobody could take it back."""
    client = opened(serve(answering(data={"password": "hunter2"}, lease_id="")).address)
    with pytest.raises(VaultFailed) as caught:
        await client.issue(TOKEN, "", "db", "reader")
    assert caught.value.trouble is Trouble.MALFORMED
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


async def test_a_request_for_a_lease_is_not_sent_to_another_server(opened, serve) -> None:
    """The first may have made one already."""
    first, second = serve(lambda _seen: None), serve(answering(**LEASE))
    with pytest.raises(VaultFailed):
        await opened(first.address, second.address).issue(TOKEN, "", "db", "reader")
    assert second.seen == []


async def test_a_request_for_a_lease_is_waited_for_longer(opened, serve) -> None:
    """One that was given up would leave a lease that nobody knows; others keep their own time."""
    body = json.dumps(LEASE).encode()
    server = serve(lambda _seen: Answer(body=body, drip_seconds=0.5 / len(body)))
    client = opened(server.address, timeout_seconds=0.2)
    assert (await client.issue(TOKEN, "", "db", "reader")).id == "db/creds/r/1"
    with pytest.raises(VaultFailed) as caught:
        await client.renew_lease(TOKEN, "", "db/creds/r/1", 60.0)
    assert caught.value.trouble is Trouble.TIMEOUT


async def test_what_a_token_may_do_by_path(opened, serve) -> None:
    """What the server does not tell of is not allowed."""
    server = serve(answering(data={"a/b": ["read", "update"], "capabilities": ["deny"], "x": "root"}))
    may = await opened(server.address).capabilities(TOKEN, "", ["a/b", "c", "x"])
    assert may == {"a/b": {"read", "update"}, "c": frozenset(), "x": frozenset()}
    assert json.loads(server.seen[0].body) == {"paths": ["a/b", "c", "x"]}


async def test_transit_there_and_back(opened, serve) -> None:
    """All bytes go as base64, the associated data as well."""
    server = serve(answering(data={"ciphertext": "vault:v1:x", "plaintext": "AAH/"}))
    client = opened(server.address)
    assert await client.transit_encrypt(TOKEN, "transit", "key-1", b"\x00\x01\xff", b"place") == "vault:v1:x"
    assert await client.transit_decrypt(TOKEN, "transit", "key-1", "vault:v1:x", b"place") == b"\x00\x01\xff"
    encrypt, decrypt = server.seen
    assert (encrypt.path, decrypt.path) == ("/v1/transit/encrypt/key-1", "/v1/transit/decrypt/key-1")
    assert json.loads(encrypt.body) == {"plaintext": "AAH/", "associated_data": "cGxhY2U="}
    assert json.loads(decrypt.body) == {"ciphertext": "vault:v1:x", "associated_data": "cGxhY2U="}


@pytest.mark.parametrize("plain", ["hunter2!", "hunter2", None, 5])
async def test_what_is_no_base64_is_malformed_and_not_repeated(opened, serve, plain: object) -> None:
    """It may be what was opened."""
    client = opened(serve(answering(data={"plaintext": plain})).address)
    with pytest.raises(VaultFailed) as caught:
        await client.transit_decrypt(TOKEN, "transit", "key-1", "vault:v1:x", b"place")
    assert caught.value.trouble is Trouble.MALFORMED
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


async def test_a_write_of_version_2_is_checked_against_a_version(opened, serve) -> None:
    """All fields, as they are, in the namespace of the place."""
    server = serve(answering(data={"version": 8}))
    place = SecretPlace(namespace="team/a", mount="team/kv", version=2, path="acme/smtp")
    await opened(server.address).write(TOKEN, place, {"password": "hunter3", "port": 25, "deep": [None]}, after=7)
    (seen,) = server.seen
    assert (seen.method, seen.path) == ("POST", "/v1/team/kv/data/acme/smtp")
    assert json.loads(seen.body) == {
        "options": {"cas": 7},
        "data": {"password": "hunter3", "port": 25, "deep": [None]},
    }
    assert (seen.headers["X-Vault-Token"], seen.headers["X-Vault-Namespace"]) == (TOKEN, "team/a")


async def test_a_write_of_version_1_is_one_request(opened, serve) -> None:
    """Nothing is read for it, and the server answers nothing."""
    server = serve(lambda _seen: Answer(204, b""))
    place = SecretPlace(namespace="", mount="kv", version=1, path="acme/smtp")
    await opened(server.address).write(TOKEN, place, {"password": "hunter3"}, after=0)
    (seen,) = server.seen
    assert (seen.method, seen.path, json.loads(seen.body)) == ("PUT", "/v1/kv/acme/smtp", {"password": "hunter3"})


@pytest.mark.parametrize(("status", "trouble"), [(400, Trouble.REJECTED), (403, Trouble.DENIED), (503, Trouble.SEALED)])
async def test_a_write_that_is_not_taken(opened, serve, status: int, trouble: Trouble) -> None:
    """A version that is not the newest any more is a request that the server does not take."""
    said = b'{"errors": ["check-and-set parameter did not match the current version"]}'
    server = serve(lambda _seen: Answer(status, said))
    fields = {"password": "hunter-3"}
    with pytest.raises(VaultFailed) as caught:
        await opened(server.address).write(TOKEN, PLACE, fields, after=7)
    assert caught.value.trouble is trouble
    assert fields["password"] not in "".join(traceback.format_exception(caught.value))
