"""A real OPA with everything that it needs: a tiny bundle service, bundles that `opa build` made, a configuration."""

import asyncio
import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from fakes.opa import BUNDLE, FakeFloor
from gateway.cli.demo.daemons import Daemon, opa, opa_binary
from gateway.clock import SystemClock
from gateway.policy.base import Floor
from gateway.policy.opa import OpaEngine
from gateway.settings.policy import OpaSettings


class BundleService:
    """Gives out one bundle by HTTP on loopback, with an ETag; 404 while there is none."""

    def __init__(self, port: int = 0) -> None:
        self.bundle: bytes | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    def stop(self) -> None:
        """Answer nobody any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                bundle = service.bundle
                etag = f'"{hash(bundle)}"'
                is_same = bundle is not None and self.headers.get("If-None-Match") == etag
                self.send_response(404 if bundle is None else 304 if is_same else 200)
                self.send_header("ETag", etag)
                body = b"" if bundle is None or is_same else bundle
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name is Python's
                """Say nothing."""

        return Handler


class RealOpa:
    """An OPA in a process of its own on a Unix socket, whose bundle comes from a bundle service."""

    def __init__(self, public_key: str = "") -> None:
        """With a public key, PEM, the bundle must be signed by it."""
        self.folder = Path(tempfile.mkdtemp(prefix="opa"))
        self.service = BundleService()
        self.socket = self.folder / "o.sock"
        config = self.folder / "config.json"
        polling = {"min_delay_seconds": 1, "max_delay_seconds": 1}
        bundle: dict[str, Any] = {"service": "bundles", "resource": "bundle.tar.gz", "polling": polling}
        keys = {"signer": {"algorithm": "RS256", "key": public_key}} if public_key else {}
        if public_key:
            bundle["signing"] = {"keyid": "signer"}
        services = {"bundles": {"url": f"http://127.0.0.1:{self.service.port}"}}
        # With neither service nor console the status is kept for who asks, and nothing is written anywhere.
        whole = {"services": services, "bundles": {BUNDLE: bundle}, "status": {"prometheus": True}, "keys": keys}
        config.write_text(json.dumps(whole))
        self.daemon: Daemon = opa(self.folder, self.socket, "--config-file", str(config), binary=binary())

    @property
    def url(self) -> str:
        """What the settings name."""
        return f"unix:{self.socket}"

    def close(self) -> None:
        """End it, and leave nothing behind."""
        self.daemon.stop()
        self.service.stop()
        shutil.rmtree(self.folder)


@contextmanager
def real_opa(bundle: bytes | None, public_key: str = "") -> Iterator[RealOpa]:
    """A started OPA whose service gives out this bundle."""
    made = RealOpa(public_key)
    made.service.bundle = bundle
    try:
        made.daemon.start()
        yield made
    finally:
        made.close()


async def until(is_so: Callable[[], bool], seconds: float = 5.0) -> float:
    """Wait for it; how long that took."""
    begun = asyncio.get_running_loop().time()
    async with asyncio.timeout(seconds):
        while not is_so():
            await asyncio.sleep(0.01)
    return asyncio.get_running_loop().time() - begun


def binary() -> str:
    """OPA; tests cannot do without it."""
    found = opa_binary()
    assert found is not None, "there is no opa; run: python tests/real/bring.py .venv/bin/opa"
    return found


@asynccontextmanager
async def engine_on(opa: RealOpa, floor: Floor | None = None, **settings: object) -> AsyncIterator[OpaEngine]:
    """A started engine on this OPA."""
    made = OpaSettings.model_validate({"url": opa.url, "bundle": BUNDLE, **settings})
    engine = OpaEngine(made, clock=SystemClock(), floor=floor or FakeFloor())
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


def built(folder: Path, revision: str, *more: str) -> bytes:
    """The folder as a bundle that owns the package `gateway`, tests left out. `more` are options of `opa build`."""
    with tempfile.TemporaryDirectory() as scratch:
        source, target = Path(scratch, "source"), Path(scratch, "bundle.tar.gz")
        shutil.copytree(folder, source, ignore=shutil.ignore_patterns("*_test.rego", ".manifest"))
        data = [json.loads(path.read_text()) for path in source.glob("data.json")]
        roots = sorted({"gateway", *(key for each in data for key in each)})
        (source / ".manifest").write_text(json.dumps({"revision": revision, "roots": roots}))
        command = [binary(), "build", "--bundle", str(source), "--output", str(target), *more]
        subprocess.run(command, check=True, capture_output=True, env={}, timeout=30)
        return target.read_bytes()


def built_of(text: str, revision: str, *more: str, admin: str = "") -> bytes:
    """The same of one module's text in the package that decides; `admin` is another module, as it is."""
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "policy.rego").write_text("package gateway.authz\n\n" + text)
        if admin:
            Path(scratch, "admin.rego").write_text(admin)
        return built(Path(scratch), revision, *more)
