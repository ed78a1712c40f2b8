"""Signed bundles for tests, ways to spoil them, and a bundle service."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt
from aiohttp import web

from fakes.clock import START
from fakes.packs import ALLOW_ALL, write_pack
from gateway.policy.bundle.archive import read_archive, write_archive
from gateway.policy.bundle.build import Signing, build_bundle
from gateway.policy.bundle.manifest import make_revision
from gateway.policy.bundle.signature import SigningKey, make_signing_key, read_signing_key, sign
from gateway.policy.embedded import packages_of
from gateway.policy.pack import read_pack


@dataclass(frozen=True, slots=True)
class Keys:
    """A key pair in files."""

    private_file: Path
    public_file: Path

    @property
    def signing(self) -> SigningKey:
        """The private half."""
        return read_signing_key(self.private_file)


def write_keys(folder: Path, name: str = "policy") -> Keys:
    """A new pair for ES256 in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    private_file, public_file = folder / f"{name}.pem", folder / f"{name}.pem.pub"
    private, public = make_signing_key()
    private_file.write_bytes(private)
    public_file.write_bytes(public)
    return Keys(private_file, public_file)


def signed_bundle(
    folder: Path, keys: Keys, text: str = ALLOW_ALL, *, data: str = "{}", built_at: float = START, scope: str = ""
) -> tuple[bytes, str]:
    """A bundle of this policy and its revision. `folder` is where the policy is written on the way."""
    pack = read_pack([write_pack(folder, text, data)])
    revision = make_revision(built_at, pack.revision)
    signing = Signing(key=keys.signing, scope=scope)
    raw, _ = build_bundle(pack, packages_of(pack), revision=revision, signing=signing, now=built_at)
    return raw, revision


def changed(raw: bytes, files: Mapping[str, bytes | None]) -> bytes:
    """The same archive with some files replaced, added, or (None) left out."""
    kept = {name: content for name, content in (read_archive(raw) | files).items() if content is not None}
    return write_archive(kept)


def with_claims(raw: bytes, keys: Keys, **claims: Any) -> bytes:
    """The same bundle, signed anew with further or other claims."""
    files = read_archive(raw)
    files.pop(".signatures.json")
    signed = sign(files, keys.signing, algorithm="ES256", key_id="default", scope="", now=START)
    payload = json.loads(_part(json.loads(signed)["signatures"][0], 1)) | claims
    token = jwt.encode(payload, keys.signing.key, algorithm="ES256")
    return changed(raw, {".signatures.json": json.dumps({"signatures": [token]}).encode()})


def token_of(raw: bytes) -> str:
    """The token in a bundle's signature file."""
    return str(json.loads(read_archive(raw)[".signatures.json"])["signatures"][0])


def with_token(raw: bytes, *tokens: str) -> bytes:
    """The bundle with these tokens instead of its own."""
    return changed(raw, {".signatures.json": json.dumps({"signatures": tokens}).encode()})


def forged(token: str, header: dict[str, str], sign_with: bytes | None) -> str:
    """The payload of a token under another header, with an HMAC under this secret, or with no signature."""
    signed = f"{_encoded(json.dumps(header).encode())}.{token.split('.')[1]}"
    mac = hmac.new(sign_with, signed.encode(), hashlib.sha256).digest() if sign_with is not None else b""
    return f"{signed}.{_encoded(mac)}"


def _part(token: str, index: int) -> bytes:
    part = token.split(".")[index]
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@dataclass(slots=True)
class BundleService:
    """What a test may change while it runs. `answered` counts the answers by their status."""

    port: int = 0
    body: bytes = b""
    token: str = ""
    """When set, whoever does not bring it is refused."""
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    """While it is not set, requests are taken and not answered, as by a frozen process."""
    answered: list[int] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    @property
    def url(self) -> str:
        """Where the bundle is."""
        return f"http://127.0.0.1:{self.port}/bundle.tar.gz"

    async def next_answers(self, count: int = 1) -> None:
        """Return when so many more were given."""
        wanted = len(self.answered) + count
        async with asyncio.timeout(10):
            while len(self.answered) < wanted:
                self._changed.clear()
                await self._changed.wait()

    async def _answer(self, request: web.Request) -> web.Response:
        await self.gate.wait()
        etag = f'"{hashlib.sha256(self.body).hexdigest()[:16]}"'
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            response = web.Response(status=401)
        elif request.headers.get("If-None-Match") == etag:
            response = web.Response(status=304, headers={"ETag": etag})
        else:
            response = web.Response(body=self.body, headers={"ETag": etag}, content_type="application/gzip")
        self.answered.append(response.status)
        self._changed.set()
        return response


@asynccontextmanager
async def bundle_service(body: bytes = b"", port: int = 0) -> AsyncIterator[BundleService]:
    """A running service on loopback, gone when the block ends."""
    service = BundleService(body=body)
    app = web.Application()
    app.router.add_get("/bundle.tar.gz", service._answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    service.port = runner.addresses[0][1]
    try:
        yield service
    finally:
        await runner.cleanup()
