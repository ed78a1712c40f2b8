"""`vault-dynamic:` references: a real OpenBao that makes and takes back users of a real PostgreSQL."""

import asyncio
import itertools
import json
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from real.bao import Bao, running
from real.postgres import ADMIN, Postgres, postgres
from real.waiting import until

from gateway.clients.vault import VaultClient
from gateway.clock import SystemClock
from gateway.credentials.base import Lent
from gateway.credentials.resolver import Resolver
from gateway.credentials.vault import VaultSource
from gateway.errors import Reason, Refusal
from gateway.settings.parts import CredentialGrant
from gateway.settings.vault import AppRoleAuth, DynamicSettings, VaultSettings

NAMES = itertools.count(1)
HOSTS = ("db.corp.example",)


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """The database whose users are made."""
    with postgres() as running_server:
        yield running_server


@pytest.fixture(scope="module")
def bao(server: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bao]:
    """Makes them, by one role that lasts an hour and one that lasts seconds."""
    with running(tmp_path_factory.mktemp("bao")) as one:
        one.database(server.port, server.passwords[ADMIN].read_text())
        one.allow("issue", "database/creds/*")
        one.allow("give-back", "sys/leases/revoke", "sys/leases/renew", capabilities='"update"')
        yield one


@pytest.fixture
def role(bao: Bao) -> str:
    """A role of the test's own, whose users last an hour."""
    name = f"reader-{next(NAMES)}"
    bao.database_role(name)
    return name


Opened = Callable[..., VaultSource]


@pytest.fixture
async def opened(bao: Bao, tmp_path: Path) -> AsyncIterator[Opened]:
    """Makes sources and stops them."""
    sources: list[VaultSource] = []

    def make(*, policies: str = "issue,give-back", timeout_ms: float = 3000, **dynamic: Any) -> VaultSource:
        auth = AppRoleAuth(kind="approle", role_id_file=tmp_path / "role", secret_id_file=tmp_path / "secret")
        role_id, secret_id = bao.role(f"gateway-{next(NAMES)}", policies, token_period="1h")
        auth.role_id_file.write_text(role_id)
        auth.secret_id_file.write_text(secret_id)
        settings = VaultSettings(
            addresses=(bao.address,),
            auth=auth,
            dynamic=DynamicSettings(engines=("database",), **dynamic),
            timeout_ms=timeout_ms,
        )
        client = VaultClient(settings.addresses, timeout_seconds=timeout_ms / 1000)
        sources.append(VaultSource(settings, client, clock=SystemClock(), chance=lambda: 0.0))
        return sources[-1]

    yield make
    for source in sources:
        await source.stop()


async def lend(source: VaultSource, role: str, seconds: float = 5.0) -> Lent:
    """What one call gets."""
    return await source.lend("acme", f"database/{role}", seconds)


def login(lent: Lent) -> tuple[str, str]:
    """User and password, as the adapter reads them."""
    document = json.loads(lent.secrets[0].reveal())
    return document["username"], document["password"]


async def logs_in(server: Postgres, user: str, password: str) -> bool:
    """Whether the database lets this user in."""
    try:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=server.port, user=user, password=password, database="postgres"
        )
    except asyncpg.InvalidPasswordError:
        return False
    assert await connection.fetchval("SELECT current_user") == user
    await connection.close()
    return True


async def gone(bao: Bao, role: str) -> None:
    """Return when no lease of the role is left."""
    await until(lambda: asyncio.to_thread(lambda: not bao.leases(f"database/creds/{role}")), 10.0)


async def idle(source: VaultSource) -> None:
    """Return when the gateway holds no lease and owes no revocation."""

    async def is_idle() -> bool:
        return source.status().leases == (0, 0)

    await until(is_idle, 10.0)


async def test_a_user_lives_as_long_as_its_call(server: Postgres, bao: Bao, opened: Opened, role: str) -> None:
    """It logs in during the call, and not after it; the lease was the one that the line names."""
    lent = await lend(opened(), role)
    user, password = login(lent)
    assert await logs_in(server, user, password)
    assert bao.leases(f"database/creds/{role}") == [lent.lease_id.rsplit("/", 1)[1]]
    assert [secret.reveal() for secret in lent.secrets[1:]] == [password, user]
    lent.end()
    await gone(bao, role)
    assert not await logs_in(server, user, password)
    assert lent.secrets[0].reveal() == ""


async def test_one_field(bao: Bao, opened: Opened, role: str) -> None:
    """As a `vault:` reference has it."""
    lent = await opened().lend("acme", f"database/{role}#username", 5.0)
    assert len(lent.secrets) == 1
    assert lent.secrets[0].reveal().startswith("v-approle-reader")
    lent.end()
    await gone(bao, role)


async def test_every_call_has_its_own(bao: Bao, opened: Opened, role: str) -> None:
    """And each ends alone."""
    source = opened()
    lents = await asyncio.gather(*(lend(source, role) for _ in range(8)))
    assert len({login(lent) for lent in lents}) == 8
    for lent in lents[1:]:
        lent.end()
    await until(lambda: asyncio.to_thread(lambda: len(bao.leases(f"database/creds/{role}")) == 1), 10.0)
    lents[0].end()
    await gone(bao, role)


async def test_a_pool_shares_one_and_revokes_it_at_the_end(bao: Bao, opened: Opened, role: str) -> None:
    """Twenty callers at the same time, and another after them; another tenant gets its own."""
    source = opened(pool=True)
    lents = await asyncio.gather(*(lend(source, role) for _ in range(20)))
    for lent in lents:
        lent.end()
    again, other = await lend(source, role), await source.lend("other", f"database/{role}", 5.0)
    assert {lent.lease_id for lent in (*lents, again)} == {again.lease_id}
    assert other.lease_id != again.lease_id
    assert len(bao.leases(f"database/creds/{role}")) == 2
    await source.stop()
    await gone(bao, role)


async def test_a_long_call_keeps_its_user(server: Postgres, bao: Bao, opened: Opened) -> None:
    """Beyond the time that the lease had at first."""
    bao.database_role("brief", ttl="4s", max_ttl="1h")
    lent = await lend(opened(), "brief", seconds=30.0)
    user, password = login(lent)
    before = await asyncio.to_thread(valid_until, server, user)
    await until(lambda: asyncio.to_thread(lambda: valid_until(server, user) > before), 8.0)
    await asyncio.sleep(2.5)
    assert await logs_in(server, user, password)
    lent.end()
    await gone(bao, "brief")
    assert not await logs_in(server, user, password)


def valid_until(server: Postgres, user: str) -> str:
    """Until when the database lets it in."""
    return server.sql(f"SELECT rolvaliduntil AT TIME ZONE 'UTC' FROM pg_roles WHERE rolname = '{user}'")


async def test_no_lease_is_left_after_calls_that_were_cancelled_anywhere(bao: Bao, opened: Opened, role: str) -> None:
    """Sixty calls, of which half are cut off while they wait for theirs, or just when it comes."""
    source, chance = opened(), random.Random(1)

    async def call(number: int) -> None:
        lent = await lend(source, role)
        try:
            await asyncio.sleep(0.01)
        finally:
            lent.end()

    calls = [asyncio.create_task(call(number)) for number in range(60)]
    for task in chance.sample(calls, 30):
        await asyncio.sleep(chance.random() * 0.05)
        task.cancel()
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(one, asyncio.CancelledError | None) for one in ended)
    assert any(isinstance(one, asyncio.CancelledError) for one in ended)
    await idle(source)
    await gone(bao, role)
    issued = [path for operation, path in bao.asked() if path == f"database/creds/{role}"]
    assert len(issued) >= 30


async def test_a_vault_that_is_killed_at_the_end_of_a_call_revokes_when_it_is_back(
    server: Postgres, bao: Bao, opened: Opened, role: str
) -> None:
    """The call's end does not wait for it."""
    source = opened()
    lent = await lend(source, role)
    user, password = login(lent)
    bao.daemon.kill()
    try:
        lent.end()
        await asyncio.sleep(0.5)
        assert source.status().leases == (0, 1)
        assert await logs_in(server, user, password)
    finally:
        await asyncio.to_thread(bao.start)
    await gone(bao, role)
    assert not await logs_in(server, user, password)
    await idle(source)


async def test_a_caller_that_does_not_wait_leaves_no_lease(bao: Bao, opened: Opened, role: str) -> None:
    """The server is frozen while it is asked, and answers when nobody wants to know any more."""
    source = opened(timeout_ms=1000)
    await source.start()
    before = len(bao.asked())
    bao.daemon.freeze()
    try:
        with pytest.raises(Refusal) as caught:
            await lend(source, role)
        assert caught.value.reason is Reason.CREDENTIAL_UNAVAILABLE
    finally:
        bao.daemon.thaw()
    await until(lambda: asyncio.to_thread(lambda: ("update", "sys/leases/revoke") in bao.asked()[before:]), 10.0)
    await gone(bao, role)


async def test_a_database_that_will_not_let_go_is_asked_again(
    server: Postgres, bao: Bao, opened: Opened, role: str
) -> None:
    """A user who owns something cannot be dropped; once it owns nothing the lease ends."""
    source = opened()
    lent = await lend(source, role)
    user, _ = login(lent)
    server.sql("CREATE TABLE held (a int)", f'ALTER TABLE held OWNER TO "{user}"')
    lent.end()
    await asyncio.sleep(0.5)
    assert source.status().leases == (0, 1)
    server.sql("DROP TABLE held")
    await gone(bao, role)


async def test_stopping_revokes_what_calls_still_hold(server: Postgres, bao: Bao, opened: Opened, role: str) -> None:
    """Nobody is left to do it later."""
    source = opened()
    lents = [await lend(source, role) for _ in range(3)]
    await source.stop()
    assert bao.leases(f"database/creds/{role}") == []
    for lent in lents:
        assert not await logs_in(server, *login(lent))
        lent.end()


async def test_a_role_that_is_not_there_and_a_right_that_is_missing(bao: Bao, opened: Opened, role: str) -> None:
    """Both are refused in words that name nothing, and both are found before the first call."""
    source = opened()
    with pytest.raises(Refusal) as caught:
        await lend(source, "nobody")
    assert caught.value.reason is Reason.CREDENTIAL_UNAVAILABLE
    narrow = opened(policies="issue")
    reference = f"vault-dynamic:database/{role}"
    report = await narrow.check([("acme", reference), ("acme", "vault-dynamic:elsewhere/x"), ("acme", "env:X")])
    assert [problem.split("): ")[1].split(";")[0] for problem in report.problems] == [
        "the login has no right to update sys/leases/revoke",
        "the settings do not name its engine",
    ]
    assert (await source.check([("acme", reference)])) == ((), ())
    nothing = opened(policies="give-back")
    assert "no right to read database/creds" in (await nothing.check([("acme", reference)])).problems[0]
    with suppress(Refusal):
        await lend(nothing, role)
    assert bao.leases(f"database/creds/{role}") == []


async def test_grants_hold_for_what_is_lent_too(bao: Bao, opened: Opened, role: str) -> None:
    """The deployment's settings say which tenant may use which role, and who may receive it."""
    source = opened()
    grant = CredentialGrant(tenant="acme", references=(f"vault-dynamic:database/{role}",), hosts=HOSTS)
    resolver = Resolver({}, [grant], {"vault-dynamic": source})
    lent = await resolver.lend("acme", f"vault-dynamic:database/{role}", HOSTS, seconds=5.0)
    assert lent.lease_id
    lent.end()
    refused = [
        ("other", f"vault-dynamic:database/{role}", HOSTS),
        ("acme", "vault-dynamic:database/other", HOSTS),
        ("acme", f"vault-dynamic:database/{role}#password", HOSTS),
        ("acme", f"vault-dynamic:database/{role}", ("evil.example",)),
    ]
    for tenant, reference, hosts in refused:
        with pytest.raises(Refusal) as caught:
            await resolver.lend(tenant, reference, hosts, seconds=5.0)
        assert caught.value.reason is Reason.CREDENTIAL_NOT_ALLOWED
    await gone(bao, role)
