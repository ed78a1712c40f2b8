"""The bundle service fails in every way, and the embedded engine decides by the last good bundle or not at all."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from fakes.bundles import Keys, bundle_service, changed, signed_bundle, token_of, with_token, write_keys
from fakes.clock import START
from fakes.opa_bundles import until
from fakes.packs import ALLOW_ALL, DENY_ALL, ENDLESS, document_json

from adapters.base import Fault
from gateway.call import DecisionEffect
from gateway.cli.demo.daemons import free_port
from gateway.clock import SystemClock
from gateway.errors import Reason, Refusal
from gateway.policy.bundle.floor import FileFloor
from gateway.policy.bundle.source import BundleSource
from gateway.policy.candidate import Trials
from gateway.policy.reload import ReloadingEngine
from gateway.settings.policy import BundleSettings

DAY = 86400.0


class Site:
    """Keys, a state directory, and engines on a service at one port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys = write_keys(folder / "keys")
        self.port = free_port()

    def bundle(self, text: str = ALLOW_ALL, *, days: float = 0, keys: Keys | None = None) -> tuple[bytes, str]:
        """A signed bundle, built so many days after the first, and its revision."""
        return signed_bundle(self.folder / "made", keys or self.keys, text, built_at=START + days * DAY)

    @asynccontextmanager
    async def engine(self, *, max_age_seconds: float = 3600) -> AsyncIterator[ReloadingEngine]:
        """A started engine, as production has it."""
        clock, state = SystemClock(), self.folder / "state"
        url = f"http://127.0.0.1:{self.port}/bundle.tar.gz"
        settings = BundleSettings(url=url, key_file=self.keys.public_file, max_age_seconds=max_age_seconds)
        source = BundleSource(settings, state / "policy", clock=clock, floor=FileFloor(state / "floor"))
        engine = ReloadingEngine(source, clock=clock, try_out=Trials(max_ms=1000, seconds=3), reload_seconds=0.1)
        await engine.start()
        try:
            yield engine
        finally:
            await engine.stop()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Nobody listens yet."""
    return Site(tmp_path)


async def _effect(engine: ReloadingEngine) -> DecisionEffect:
    return (await engine.decide(document_json())).effect


async def _refusal(engine: ReloadingEngine) -> tuple[Reason, Fault | None]:
    with pytest.raises(Refusal) as caught:
        await engine.decide(document_json())
    return caught.value.reason, caught.value.fault


async def test_g08_without_a_service_nothing_is_decided_and_soon_after_everything(site: Site) -> None:
    """G08: the gateway starts, refuses every call, and is ready within two seconds of the service."""
    raw, revision = site.bundle()
    async with site.engine() as engine:
        assert await _refusal(engine) == (Reason.POLICY_NOT_LOADED, Fault.NOT_LOADED)
        assert engine.status().problem == "bundle: unreachable: the server cannot be reached"
        async with bundle_service(raw, site.port):
            assert await until(lambda: engine.status().is_ready) < 2.0
        assert (engine.revision, await _effect(engine)) == (revision, DecisionEffect.ALLOW)


async def test_a_frozen_service_holds_up_no_decision(site: Site) -> None:
    """It takes requests and answers none; afterwards the next bundle is there within two seconds."""
    first, _ = site.bundle()
    second, newer = site.bundle(DENY_ALL, days=1)
    async with bundle_service(first, site.port) as service, site.engine() as engine:
        service.gate.clear()
        service.body = second
        for _ in range(50):
            assert await asyncio.wait_for(_effect(engine), 0.5) is DecisionEffect.ALLOW
            await asyncio.sleep(0.005)
        service.gate.set()
        assert await until(lambda: engine.revision == newer) < 2.0


async def test_a_service_that_is_gone_too_long_stops_everything_until_it_is_back(site: Site) -> None:
    """The last good bundle decides until it is too old; within two seconds of the return it does again."""
    raw, revision = site.bundle()
    async with AsyncExitStack() as running:
        async with bundle_service(raw, site.port):
            engine = await running.enter_async_context(site.engine(max_age_seconds=2))
            assert await _effect(engine) is DecisionEffect.ALLOW
        await until(lambda: engine.status().problem != "")
        await until(lambda: not engine.status().is_ready)
        assert await _refusal(engine) == (Reason.POLICY_NOT_LOADED, Fault.NOT_LOADED)
        await running.enter_async_context(bundle_service(raw, site.port))
        assert await until(lambda: engine.status().is_ready) < 2.0
        assert (engine.revision, await _effect(engine)) == (revision, DecisionEffect.ALLOW)


def _spoilt(site: Site, good: bytes) -> list[bytes]:
    """Everything that must not decide: nearly each would allow, if anybody believed it."""
    allowing = f"package gateway.authz\n\n{ALLOW_ALL}".encode()
    newer, _ = site.bundle(days=2)
    return [
        b"",
        b"garbage" * 1000,
        gzip.compress(b"garbage" * 1000),
        newer[:-20],
        changed(good, {"policy.rego": allowing}),
        changed(newer, {".signatures.json": None}),
        changed(newer, {"more/data.json": b"{}"}),
        with_token(newer, token_of(good)),
        with_token(newer, token_of(newer), token_of(newer)),
        site.bundle(days=2, keys=write_keys(site.folder / "other"))[0],
        site.bundle(days=0)[0],
        site.bundle("x := http.send({})", days=2)[0],
        site.bundle(ENDLESS, days=2)[0],
    ]


async def test_nothing_spoilt_ever_decides(site: Site) -> None:
    """Garbage, unsigned, tampered, by another key, older, or a policy that does not load or never ends: the former
    goes on, also over a restart, and the next good one is taken.
    """
    good, revision = site.bundle(DENY_ALL, days=1)
    async with bundle_service(good, site.port) as service:
        async with site.engine() as engine:
            for body in _spoilt(site, good):
                service.body = body
                await until(lambda: engine.status().problem != "")
                assert (engine.revision, await _effect(engine)) == (revision, DecisionEffect.DENY)
                service.body = good
                await until(lambda: engine.status().problem == "")
        service.body = site.bundle()[0]
        async with site.engine() as engine:
            assert "older" in engine.status().problem
            assert await _refusal(engine) == (Reason.POLICY_NOT_LOADED, Fault.NOT_LOADED)
            service.body = site.bundle(days=3)[0]
            await until(lambda: engine.status().is_ready)
            assert await _effect(engine) is DecisionEffect.ALLOW
