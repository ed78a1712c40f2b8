"""The whole gateway under load while OPA, the vault or the limiter's server is broken in every way.

For each: no call passes that the part did not let pass, every call has its one line, nobody waits much longer than
the part's deadline, and within two seconds of its return all is well again.
"""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from fakes.load import (
    BACK_SECONDS,
    CALLERS,
    OK,
    READ,
    Load,
    Outage,
    account,
    back_again,
    faults_of,
    loaded,
    longest,
    retried,
)
from fakes.opa_bundles import BundleService
from fakes.production import (
    CACHE_SECONDS,
    EVERYTHING,
    FIRST,
    LIMITER_SECONDS,
    OPA_SECONDS,
    READS_ALONE,
    SECOND,
    STALE_SECONDS,
    VAULT_SECONDS,
    Backing,
    Production,
    backing,
    production,
    production_rows,
    when_down,
)
from fakes.relay import Way
from real.waiting import until

ENOUGH = 2 * CALLERS
"""Refusals: more than every caller has under way at once."""
SLACK_SECONDS = 1.0
"""What a call may take beyond the deadline of the part that fails, on a machine that does other things, too."""
WAYS = ("killed", "frozen", "refuse", "hang", "slow", "drip", "garbage", "nonsense", "reset")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backing]:
    """The real servers, well again after each test."""
    with backing(tmp_path_factory.mktemp("backing")) as running:
        yield running


# By way: how the lines may tell it. The first cannot be missing.
OPA_FAULTS: dict[str, tuple[str, ...]] = {
    "killed": ("reset", "refused", "not_loaded"),
    "frozen": ("timeout",),
    "refuse": ("refused", "reset"),
    "hang": ("timeout",),
    "slow": ("timeout",),
    "drip": ("timeout",),
    "garbage": ("malformed",),
    "nonsense": ("not_loaded", "malformed"),
    "reset": ("reset",),
}


@pytest.mark.parametrize("way", WAYS)
async def test_opa(servers: Backing, tmp_path: Path, way: str) -> None:
    """Nothing at all passes without it, and health says so."""
    async with production(tmp_path, servers) as one:
        async with loaded(one) as load:
            async with one.broken("opa", way):
                outage = Outage()
                await load.until(lambda: len(load.refused(outage.began)) > ENOUGH)
                await until(lambda: _is_not_serving(one))
                outage.end()
            await back_again(one, load)
            await retried(load, outage)
        during = load.goods(outage.began, outage.ended)
        assert {call.outcome for call in during} <= {"policy_unavailable", "policy_not_loaded"}
        assert longest(load) < OPA_SECONDS + SLACK_SECONDS
        faults = {fault for _, fault in faults_of(one, load.refused(0))}
        assert OPA_FAULTS[way][0] in faults
        assert faults <= set(OPA_FAULTS[way])
        account(one, load)


async def _is_not_serving(one: Production) -> bool:
    return not await one.is_serving()


LIMITER_FAULTS: dict[str, tuple[str, ...]] = {
    "killed": ("reset", "refused"),
    "frozen": ("timeout",),
    "refuse": ("refused", "reset"),
    "hang": ("timeout",),
    "slow": ("timeout",),
    "drip": ("timeout",),
    "garbage": ("malformed",),
    "nonsense": ("malformed", "error"),
    "reset": ("reset",),
}


@pytest.mark.parametrize("way", WAYS)
async def test_limiter(servers: Backing, tmp_path: Path, way: str) -> None:
    """No write passes uncounted, and no read where settings do not let it; health is as before."""
    async with production(tmp_path, servers) as one:
        async with loaded(one) as load:
            async with one.broken("limiter", way):
                outage = Outage()
                await load.until(lambda: len(load.refused(outage.began)) > ENOUGH)
                assert await one.is_serving()
                outage.end()
            await back_again(one, load)
            await retried(load, outage)
        during = load.goods(outage.began, outage.ended)
        assert {call.outcome for call in during} == {"limiter_unavailable"}
        assert longest(load) < LIMITER_SECONDS + SLACK_SECONDS
        faults = faults_of(one, load.refused(0))
        assert {fault for _, fault in faults} <= set(LIMITER_FAULTS[way])
        assert faults["limiter_unavailable", LIMITER_FAULTS[way][0]]
        account(one, load)


async def test_limiter_with_reads_that_may_pass(servers: Backing, tmp_path: Path) -> None:
    """`open` lets every read pass and counts that it did; writes are refused all the same."""
    async with production(tmp_path, servers, when_down=when_down("open")) as one:
        async with loaded(one) as load:
            async with one.broken("limiter", "killed"):
                outage = Outage()
                await load.until(lambda: len(load.refused(outage.began)) > ENOUGH)
                outage.end()
            await back_again(one, load)
        during = load.goods(outage.began, outage.ended)
        assert {call.outcome for call in during if call.is_write} == {"limiter_unavailable"}
        reads = [call.outcome for call in during if not call.is_write]
        assert set(reads) == {OK}
        assert one.gateway._limits.counts["tenant", "open"] >= len(reads)
        account(one, load)


async def test_limiter_with_reads_that_are_counted_here(servers: Backing, tmp_path: Path) -> None:
    """`local` lets pass one replica's part of the rate, and no more; writes are refused all the same."""
    burst, per_second = 100, 10  # of the wide rate, one part in ten thousand
    async with production(tmp_path, servers, when_down=when_down("local", replicas=10_000)) as one:
        async with loaded(one) as load:
            async with one.broken("limiter", "frozen"):
                outage = Outage()
                await load.until(lambda: any(call.outcome == "tenant_rate" for call in load.calls))
                outage.end()
            await back_again(one, load)
        during = load.goods(outage.began, outage.ended)
        assert {call.outcome for call in during if call.is_write} == {"limiter_unavailable"}
        reads = [call.outcome for call in during if not call.is_write]
        assert set(reads) == {OK, "tenant_rate"}
        assert burst / 2 < reads.count(OK) <= burst + 1 + per_second * (outage.ended - outage.began)
        account(one, load)


VAULT_FAULTS: dict[str, tuple[str, ...]] = {
    "killed": ("reset",),
    "frozen": ("timeout",),
    "refuse": ("reset",),
    "hang": ("timeout",),
    "slow": ("timeout",),
    "drip": ("timeout",),
    "garbage": ("malformed",),
    "nonsense": ("malformed",),
    "reset": ("reset",),
}


# A credential lasts for a second at least. So several gateways are tried at once where each has a relay of its own.
@pytest.mark.parametrize(
    "ways",
    [("killed",), ("frozen",), ("refuse", "hang", "slow"), ("drip", "garbage", "nonsense", "reset")],
    ids="+".join,
)
async def test_vault(servers: Backing, tmp_path: Path, ways: tuple[str, ...]) -> None:
    """Calls go on with the credential that was read, for its time; then each is refused. Health is as before."""
    async with asyncio.TaskGroup() as group:
        for way in ways:
            (tmp_path / way).mkdir()
            group.create_task(_vault(servers, tmp_path / way, way, callers=CALLERS // len(ways)))


async def _vault(servers: Backing, folder: Path, way: str, callers: int) -> None:
    async with production(folder, servers) as one:
        async with loaded(one, callers) as load:
            async with one.broken("vault", way):
                outage = Outage()
                over = outage.began + CACHE_SECONDS + STALE_SECONDS
                await load.until(lambda: len(load.refused(over)) > callers)
                assert await one.is_serving()
                outage.end()
            await back_again(one, load)
            await retried(load, outage)
        goods = load.goods(outage.began, outage.ended)
        # It is read again when a fifth of its time is left at least; what no server answers for comes on top.
        held = outage.began + STALE_SECONDS + 0.05 * CACHE_SECONDS
        assert {call.outcome for call in goods if call.ended < held} == {OK}
        assert {call.outcome for call in goods if call.began > over} == {"credential_unavailable"}
        assert longest(load) < VAULT_SECONDS + SLACK_SECONDS
        faults = faults_of(one, load.refused(0))
        assert set(faults) == {("credential_unavailable", fault) for fault in VAULT_FAULTS[way]}
        account(one, load)


async def test_g08_a_bundle_service_that_cannot_be_reached(servers: Backing, tmp_path: Path) -> None:
    """G08: OPA is there and its policy is not: health says no, and a read is refused, with its line.

    Once the bundle is served all is well within two seconds.
    """
    opa = servers.opa
    opa.service.stop()
    opa.daemon.stop()
    opa.daemon.start()
    async with production(tmp_path, servers) as one:
        load = Load(one.stub)
        try:
            assert not await one.is_serving()
            refused = await load.call(load.read())
            assert refused.outcome == "policy_not_loaded"
            assert dict(faults_of(one, [refused])) == {("policy_not_loaded", "not_loaded"): 1}
        finally:
            opa.service = BundleService(port=opa.service.port)
            opa.service.bundle = servers.bundle_of(EVERYTHING, FIRST)
        await until(one.is_serving, BACK_SECONDS)
        assert (await load.call(load.read())).outcome == OK
        assert (await load.call(load.write())).outcome == OK
        account(one, load)


@pytest.mark.parametrize("way", [Way.REFUSE, Way.HANG])
async def test_a_start_without_anybody(servers: Backing, tmp_path: Path, way: Way) -> None:
    """It starts nevertheless, is not ready, and refuses; within two seconds of their return all is well."""
    began = time.monotonic()
    async with production(tmp_path, servers, way) as one:
        # OPA is given a second for a look; the vault is asked for a token, and then for what the registry names.
        assert time.monotonic() - began < 1.0 + 2 * VAULT_SECONDS + LIMITER_SECONDS + SLACK_SECONDS
        load = Load(one.stub)
        assert not await one.is_serving()
        refused = {(await load.call(request)).outcome for request in (load.read(), load.write())}
        assert refused <= {"policy_not_loaded", "policy_unavailable"}
        await one.mend_all()
        mended = time.monotonic()
        await until(one.is_serving, BACK_SECONDS)
        for request in (load.read(), load.write()):
            while (await load.call(request)).outcome != OK:
                await asyncio.sleep(0.02)
        assert time.monotonic() - mended < BACK_SECONDS
        account(one, load)


@pytest.fixture
def published(servers: Backing) -> Iterator[Backing]:
    """Servers of which a test may publish another policy; afterwards there is the usual one."""
    yield servers
    servers.opa.service.bundle = servers.bundle_of(EVERYTHING, FIRST)


def _with_hidden() -> bytes:
    """Rows that show the agent one more tool."""
    rows = production_rows()
    rows["agents"][0]["tools"].append("echo_hidden")
    return orjson.dumps(rows)


async def test_reloads_while_everything_hangs(published: Backing, tmp_path: Path) -> None:
    """A registry that changes is taken over whole, one that is broken is not, and neither lets anything pass.

    Once a call was decided by the policy that was published meanwhile, no later one is decided by the old one.
    """
    async with production(tmp_path, published) as one:
        async with loaded(one) as load:
            async with one.broken("opa", "hang"), one.broken("vault", "hang"), one.broken("limiter", "hang"):
                outage = Outage()
                (tmp_path / "rows.json").write_bytes(_with_hidden())
                assert await one.gateway.reload() == ()
                (tmp_path / "rows.json").write_bytes(b'{"tools": 7}')
                assert await one.gateway.reload() != ()
                published.opa.service.bundle = published.bundle_of(READS_ALONE, SECOND)
                await load.until(lambda: len(load.refused(outage.began)) > ENOUGH)
                outage.end()
            await load.until(lambda: _denied(load) > CALLERS and load.last(READ) == OK)
            await until(one.is_serving, BACK_SECONDS)
            assert "echo_hidden" in one.gateway.describe().agents[0].tools
        during = load.goods(outage.began, outage.ended)
        assert {call.outcome for call in during} <= {"policy_unavailable", "policy_not_loaded"}
        _check_revisions(one, load)
        account(one, load)


def _denied(load: Load) -> int:
    """How many writes the new policy denied."""
    return sum(call.outcome == "policy_denied" for call in load.goods(0))


def _check_revisions(one: Production, load: Load) -> None:
    decided = {line["call_id"]: line["policy_revision"] for line in one.lines if line.get("decision")}
    by = [(call, decided[call.call_id]) for call in load.calls if call.call_id in decided]
    taken_over = min(call.ended for call, revision in by if revision == SECOND)
    assert {revision for call, revision in by if call.began > taken_over} == {SECOND}
