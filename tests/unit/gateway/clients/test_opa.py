"""Asking OPA over REST: one deadline, no retry, no redirect, and an error that quotes no value."""

import asyncio
import json
import ssl
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import trustme
from aiohttp import web
from fakes import opa as fake
from fakes.opa import ALLOW, BUNDLE, FakeOpa, Handler, served

from adapters.base import Fault
from gateway.clients import opa as module
from gateway.clients.opa import OpaClient, OpaFailed
from gateway.watched import FileUnusable

INPUT = b'{"principal":{"tenant":"acme"},"n":9007199254740993,"f":5.0}'


@pytest.fixture
async def opa() -> AsyncIterator[FakeOpa]:
    """A fake OPA, not served yet."""
    return FakeOpa()


@pytest.fixture
async def client(opa: FakeOpa) -> AsyncIterator[OpaClient]:
    """A client of it, with a short deadline."""
    async with served(opa) as url:
        client = OpaClient(url, BUNDLE, timeout_seconds=0.3)
        yield client
        await client.close()


async def _fault(client: OpaClient) -> tuple[Fault, str]:
    with pytest.raises(OpaFailed) as caught:
        await client.decide(INPUT)
    return caught.value.fault, str(caught.value)


async def test_the_document_is_sent_byte_by_byte(opa: FakeOpa, client: OpaClient) -> None:
    """No number is read and written again; the path is constant and asks for provenance and strict built-ins."""
    reply = await client.decide(INPUT)
    assert opa.calls == [b'{"input":' + INPUT + b"}"]
    assert (reply.is_defined, reply.value, reply.revision) == (True, ALLOW, "r1")
    method, path, headers = opa.seen[0]
    assert (method, path) == (
        "POST",
        "/v1/data/gateway/authz/decision?provenance=true&strict-builtin-errors=true",
    )
    assert "Authorization" not in headers
    assert headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(("body", "is_defined"), [(b"{}", False), (b'{"result":null}', True)])
async def test_undefined_and_null_are_told_apart(
    opa: FakeOpa, client: OpaClient, body: bytes, is_defined: bool
) -> None:
    """OPA leaves `result` out when the rule is undefined."""
    opa.body = body
    assert (await client.decide(INPUT)).is_defined is is_defined


@pytest.mark.parametrize("revision", ["", "x" * 257, "two\nlines"])
async def test_a_revision_that_cannot_be_written_down_is_none(opa: FakeOpa, client: OpaClient, revision: str) -> None:
    """A bundle that is not active, or whose revision is no short line of text, decides nothing."""
    opa.revision = revision
    assert (await client.decide(INPUT)).revision == ""


@pytest.mark.parametrize(
    ("handler", "fault"),
    [
        (fake.hangs, Fault.TIMEOUT),
        (fake.drips, Fault.TIMEOUT),
        (fake.closes, Fault.RESET),
        (fake.truncates, Fault.RESET),
        (fake.gibbers, Fault.MALFORMED),
        (fake.redirects, Fault.MALFORMED),
        (fake.bloats, Fault.MALFORMED),
        (fake.status(204), Fault.MALFORMED),
        (fake.status(401), Fault.REFUSED),
        (fake.status(403), Fault.REFUSED),
        (fake.status(400), Fault.ERROR),
        (fake.status(500), Fault.ERROR),
        (fake.status(503), Fault.ERROR),
    ],
)
async def test_each_way_to_fail_has_its_fault(opa: FakeOpa, client: OpaClient, handler: Handler, fault: Fault) -> None:
    """And is asked exactly once: nothing is tried again and no redirect is followed."""
    opa.on_call = handler
    assert (await _fault(client))[0] is fault
    assert len(opa.seen) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"true",
        b"nonsense",
        b"\xff",
        b'{"result":{"effect":"deny","effect":"allow"}}',
        b'{"result":1,"result":2}',
        b'{"result":NaN}',
        b'{"result":' + b"[" * 100_000,
    ],
)
async def test_what_is_not_strict_json_is_malformed(opa: FakeOpa, client: OpaClient, body: bytes) -> None:
    """A key that stands twice, at any depth, could be read in two ways."""
    opa.body = body
    assert (await _fault(client))[0] is Fault.MALFORMED


@pytest.mark.parametrize("provenance", ["1", "[]", '{"bundles":[]}', '{"bundles":{"authz":7}}'])
async def test_a_provenance_of_another_shape_is_malformed(opa: FakeOpa, client: OpaClient, provenance: str) -> None:
    """Nothing is guessed from it."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=f'{{"result":{json.dumps(ALLOW)},"provenance":{provenance}}}'.encode())

    opa.on_call = answer
    assert (await _fault(client))[0] is Fault.MALFORMED


async def test_an_error_keeps_code_and_place_and_no_value(opa: FakeOpa, client: OpaClient) -> None:
    """OPA's inner messages quote what rules evaluated to, which may be an argument."""
    error = {
        "code": "eval_conflict_error",
        "message": "conflicting values: s3cret",
        "location": {"file": "p.rego", "row": 3},
    }
    body = {"code": "internal_error", "message": "error(s) occurred while evaluating query", "errors": [error, 1, {}]}
    opa.on_call = fake.status(500, body)
    fault, sentence = await _fault(client)
    assert fault is Fault.ERROR
    assert "internal_error: error(s) occurred while evaluating query: eval_conflict_error at p.rego:3" in sentence
    assert "s3cret" not in sentence


async def test_an_error_of_any_length_is_cut_and_on_one_line(opa: FakeOpa, client: OpaClient) -> None:
    """Whatever the body is."""
    opa.on_call = fake.status(500, {"code": "x\n" * 9000, "message": ["?"], "errors": {}})
    sentence = (await _fault(client))[1]
    assert len(sentence) < 400
    assert "\n" not in sentence


async def test_nobody_there_is_refused(tmp_path: Path) -> None:
    """Over TCP and over a socket."""
    for url in ("http://127.0.0.1:1", f"unix:{tmp_path / 'none.sock'}"):
        client = OpaClient(url, BUNDLE, timeout_seconds=1.0)
        assert (await _fault(client))[0] is Fault.REFUSED
        await client.close()


async def test_the_wait_for_a_connection_counts(
    opa: FakeOpa, client: OpaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of more callers than connections every one has its answer, or its refusal, within the one deadline."""
    monkeypatch.setattr(module, "MAX_CONNECTIONS", 2)
    opa.on_call = fake.hangs
    begun = asyncio.get_running_loop().time()
    faults = await asyncio.gather(*(_fault(client) for _ in range(20)))
    assert {fault for fault, _ in faults} == {Fault.TIMEOUT}
    assert asyncio.get_running_loop().time() - begun < 2.0  # one after the other they would need 3 s


async def test_a_unix_socket_and_a_token() -> None:
    """The token is asked for at each request, so a rotated one is used at once."""
    opa, tokens = FakeOpa(), iter(["one", "two"])
    folder = tempfile.mkdtemp()
    runner = web.ServerRunner(web.Server(opa.handle))
    await runner.setup()
    await web.UnixSite(runner, f"{folder}/s").start()
    client = OpaClient(f"unix:{folder}/s", BUNDLE, timeout_seconds=1.0, token=lambda: next(tokens))
    await client.decide(INPUT)
    await client.decide(INPUT)
    await client.close()
    await runner.cleanup()
    assert [headers["Authorization"] for _, _, headers in opa.seen] == ["Bearer one", "Bearer two"]


async def test_a_token_that_cannot_be_read_asks_nobody(opa: FakeOpa) -> None:
    """Without it OPA would say no, or worse, yes."""

    def token() -> str:
        raise FileUnusable("/t cannot be read")

    async with served(opa) as url:
        client = OpaClient(url, BUNDLE, timeout_seconds=1.0, token=token)
        assert await _fault(client) == (Fault.ERROR, "/t cannot be read")
        await client.close()
    assert opa.seen == []


async def test_a_private_ca_and_its_rotation(opa: FakeOpa, tmp_path: Path) -> None:
    """Only who is vouched for by the file is asked; after a failure the file is read again."""
    authority, other = trustme.CA(), trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    runner = web.ServerRunner(web.Server(opa.handle))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    ca_file = tmp_path / "ca.pem"
    other.cert_pem.write_to_path(str(ca_file))
    url = f"https://127.0.0.1:{runner.addresses[0][1]}"
    client = OpaClient(url, BUNDLE, timeout_seconds=2.0, ca_file=ca_file)
    assert (await _fault(client))[0] is Fault.REFUSED
    authority.cert_pem.write_to_path(str(ca_file))
    assert (await client.decide(INPUT)).is_defined
    await client.close()
    await runner.cleanup()


async def test_what_fails_while_connections_close_is_a_failure_of_ours(opa: FakeOpa, client: OpaClient) -> None:
    """Another caller may close them at any moment; the next request opens new ones."""

    async def closed(_request: web.Request) -> web.StreamResponse:
        await client.close()
        return opa.reply({"result": ALLOW})

    opa.on_call = closed
    assert (await _fault(client))[0] in {Fault.ERROR, Fault.RESET}
    opa.on_call = None
    closing = asyncio.ensure_future(client.close())
    await asyncio.sleep(0)
    assert (await client.decide(INPUT)).is_defined
    await closing


@pytest.mark.parametrize("error", [RuntimeError("Session is closed"), AssertionError(), KeyError("s3cret")])
def test_whatever_breaks_is_told_by_its_kind(error: Exception) -> None:
    """No exception leaves, and none of its text."""
    with pytest.raises(OpaFailed) as caught, module._failures():
        raise error
    assert (str(caught.value), caught.value.fault) == (f"OPA cannot be asked ({type(error).__name__})", Fault.ERROR)


async def test_a_ca_file_that_is_not_there(tmp_path: Path) -> None:
    """Is an error, and nobody is asked."""
    client = OpaClient("https://127.0.0.1:1", BUNDLE, timeout_seconds=1.0, ca_file=tmp_path / "none")
    assert (await _fault(client))[0] is Fault.ERROR


async def test_nothing_ambient_is_honoured(opa: FakeOpa, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No proxy and no password of .netrc."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login eve password x\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    async with served(opa) as url:
        client = OpaClient(url, BUNDLE, timeout_seconds=1.0)
        await client.decide(INPUT)
        await client.close()
    assert "Authorization" not in opa.seen[0][2]


async def test_the_state_of_the_bundle(opa: FakeOpa, client: OpaClient) -> None:
    """Revision, when it was last heard of, and why there is no newer one; a URL's secrets are left out."""
    opa.error = {"code": "bundle_error", "message": 'Get "https://u:pw@host/b?sig=s3cret": refused'}
    state = await client.bundle(1.0)
    assert (state.revision, state.error) == ("r1", 'bundle_error: Get "https://host/b": refused')
    assert state.heard_at is not None


@pytest.mark.parametrize(
    "found",
    [
        {"active_revision": 7, "last_successful_request": 7},
        {"last_successful_request": "0001-01-01T00:00:00Z"},
        {"last_successful_request": "yesterday"},
        {},
    ],
)
async def test_a_bundle_that_was_never_heard_of(opa: FakeOpa, client: OpaClient, found: dict[str, object]) -> None:
    """No revision and no time, whatever stands in their place."""
    opa.on_status = fake.status(200, {"result": {"bundles": {BUNDLE: found}}})
    state = await client.bundle(1.0)
    assert (state.revision, state.heard_at) == ("", None)


async def test_a_bundle_that_is_not_configured(opa: FakeOpa, client: OpaClient) -> None:
    """Is told as such: the name in the settings is misspelt."""
    opa.on_status = fake.status(200, {"result": {"plugins": {}}})
    assert "does not name the bundle" in (await client.bundle(1.0)).error


async def test_status_off_is_told(opa: FakeOpa, client: OpaClient) -> None:
    """OPA's own words say what to turn on."""
    opa.on_status = fake.status(500, {"code": "internal_error", "message": "status plugin not enabled"})
    with pytest.raises(OpaFailed, match="status plugin not enabled"):
        await client.bundle(1.0)


async def test_health(opa: FakeOpa, client: OpaClient) -> None:
    """Returns when OPA serves, and raises when it does not."""
    await client.check_health(1.0)
    opa.on_anything = fake.status(500)
    with pytest.raises(OpaFailed):
        await client.check_health(1.0)


def _families() -> list[type[BaseException]]:
    found: list[type[BaseException]] = []
    left: list[type[BaseException]] = [aiohttp.ClientError, OSError, TimeoutError, ValueError]
    while left:
        each = left.pop()
        if each.__module__.startswith(("aiohttp", "builtins", "asyncio", "ssl", "socket")):
            found.append(each)
        left += each.__subclasses__()
    return found


@pytest.mark.parametrize("kind", sorted(set(_families()), key=lambda each: each.__qualname__))
def test_no_exception_of_the_library_leaves(kind: type[BaseException]) -> None:
    """Every kind that aiohttp has becomes `OpaFailed`."""
    with pytest.raises(OpaFailed), module._failures():
        raise kind.__new__(kind)
