"""The verification examples of docs/assertions.md, run as they stand there against served keys."""

import asyncio
import base64
import hashlib
import hmac
import io
import itertools
import json
import os
import re
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fakes.assertions import AUDIENCE, ISSUER, TARGET, decoded, facts, parts_of
from fakes.clock import FakeClock
from real.bring import go_of_machine, go_of_package

from gateway.assertions.issuing import Assertions
from gateway.assertions.key_file import FileSigner, make_key
from gateway.clock import SystemClock
from gateway.settings.assertions import AssertionSettings, AudienceGrant, PublishSettings, check_assertion
from gateway.surfaces.jwks import PATH, JwksServer
from gateway.surfaces.sockets import bound_socket
from gateway.telemetry import configure

PAGE = (Path(__file__).parents[2] / "docs/assertions.md").read_text()
URL = "https://tollhouse.corp.example:8444/.well-known/jwks.json"
SEED = bytes(32)
ROWS = "rows of acme for helper in call:0190c0ffee"


def _example(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


@dataclass
class Service:
    """A gateway that signs and serves its keys."""

    folder: Path
    url: str
    clock: FakeClock
    assertions: Assertions

    async def token(self, **changes: Any) -> str:
        """A new assertion."""
        ask = self.assertions.of(facts(**changes), TARGET, deadline=1e9, learn=lambda _: None)
        return (await ask()).reveal()

    async def bad_tokens(self) -> list[str]:
        """One for every way to be wrong."""
        good = await self.token()
        head, claims, signature = good.split(".")
        public = decoded(json.loads(self.assertions.jwks_document())["keys"][0]["x"])
        self.clock.advance(-120)
        expired = await self.token()
        self.clock.advance(240)
        early = await self.token()
        self.clock.advance(-120)
        return [
            "",
            "a.b.c",
            f"{head}.{claims}.",
            f"{head}.{claims}.{signature[:-3]}AAA",
            _under(good, {"alg": "none"}, lambda _: b""),
            _under(good, {"alg": "HS256"}, lambda signed: hmac.digest(public, signed, hashlib.sha256)),
            self._signed(good, {}, {"tenant": "globex"}, by=bytes([9]) * 32),
            self._signed(good, {"typ": "JWT"}, {}),
            self._signed(good, {"kid": "unknown"}, {}),
            self._signed(good, {}, {"aud": "ledger"}),
            self._signed(good, {}, {"iss": "https://evil.example"}),
            expired,
            early,
        ]

    @staticmethod
    def _signed(good: str, header: dict[str, Any], claims: dict[str, Any], by: bytes = SEED) -> str:
        """The same with other words in it, signed by the gateway's own key or another."""
        return _under(good, header, Ed25519PrivateKey.from_private_bytes(by).sign, claims)


def _under(
    good: str, header: dict[str, Any], sign: Callable[[bytes], bytes], claims: dict[str, Any] | None = None
) -> str:
    old_header, old_claims = parts_of(good)
    parts = (old_header | header, old_claims | (claims or {}))
    signed = b".".join(_text(json.dumps(part).encode()) for part in parts)
    return (signed + b"." + _text(sign(signed))).decode()


def _text(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    """On a port of loopback; its clock is the machine's until a test moves it."""
    make_key(tmp_path / "assertions.pem", SEED)
    settings = AssertionSettings(
        issuer=ISSUER,
        key_file=tmp_path / "assertions.pem",
        audiences=(AudienceGrant(name=AUDIENCE, hosts=TARGET.hosts),),
        publish=PublishSettings(address="127.0.0.1:0"),
    )
    clock, log, ids = FakeClock(now=SystemClock.now()), configure("info", io.StringIO()), itertools.count()
    signer = FileSigner(tmp_path / "assertions.pem", clock.monotonic, keep_seconds=120)
    assertions = Assertions(settings, signer, clock=clock, log=log, new_id=lambda: str(next(ids)))
    await assertions.start()
    assert settings.publish is not None
    server = JwksServer(settings.publish, assertions.jwks_document, clock=clock, log=log)
    sock: socket.socket = bound_socket(settings.publish.address)
    url = f"http://127.0.0.1:{sock.getsockname()[1]}{PATH}"
    await server.start(sock)
    yield Service(tmp_path, url, clock, assertions)
    await server.stop()
    await assertions.stop()


def _rotated(service: Service) -> None:
    make_key(service.folder / "new.pem", bytes([1]) * 32)
    (service.folder / "new.pem").replace(service.folder / "assertions.pem")
    service.clock.advance(1.0)


async def test_the_example_in_python(service: Service) -> None:
    """It takes what is right, refuses every forgery, and follows a rotation."""
    names: dict[str, Any] = {}
    source = _example("python")
    assert source.count(URL) == 1
    exec(source.replace(URL, service.url), names)  # the page's own text
    caller = names["caller"]
    assert (await asyncio.to_thread(caller, await service.token()))["tenant"] == "acme"
    for bad in await service.bad_tokens():
        with pytest.raises(jwt.PyJWTError):
            await asyncio.to_thread(caller, bad)
    before = await service.token()
    _rotated(service)
    for token in (before, await service.token(), before):
        assert (await asyncio.to_thread(caller, token))["decision_id"] == "call:0190c0ffee"


def _built(folder: Path) -> Path:
    """The example in Go, by the machine's Go or a package's."""
    (folder / "main.go").write_text(_example("go"))
    go = go_of_machine() or go_of_package(str(folder / "go"))
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GO111MODULE": "off", "CGO_ENABLED": "0"}
    if not os.access(os.environ.get("HOME", ""), os.W_OK):
        environment |= {"GOPATH": f"{folder}/gopath", "GOCACHE": f"{folder}/gocache"}
    subprocess.run([go, "build", "-o", folder / "verify", folder / "main.go"], env=environment, check=True, timeout=300)
    return folder / "verify"


async def test_the_example_in_go(service: Service) -> None:
    """The same, by nothing but Go's standard library."""
    binary = await asyncio.to_thread(_built, service.folder)
    good, bad = await service.token(), await service.bad_tokens()

    async def said(*tokens: str) -> list[str]:
        done = await asyncio.to_thread(
            subprocess.run, [str(binary), service.url, *tokens], capture_output=True, text=True, check=True, timeout=30
        )
        return done.stdout.splitlines()

    assert await said(good, *bad, good) == [ROWS, *["refused: the assertion is not to be believed"] * len(bad), ROWS]
    _rotated(service)
    assert await said(good, await service.token()) == [ROWS, ROWS]


def test_the_settings_of_the_page_are_settings() -> None:
    """As they stand there, with either way to sign."""
    page = _example("yaml")
    for text in (page, page.replace("  key_file:", "  # key_file:").replace("# transit", "transit")):
        settings = AssertionSettings.model_validate(yaml.safe_load(text)["assertions"])
        assert check_assertion(AUDIENCE, TARGET.hosts, "acme", settings) == []
        assert check_assertion(AUDIENCE, TARGET.hosts, "globex", settings)
