"""The store on SQLite and on a real PostgreSQL: migrations, transactions, and who may use it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from fakes.claims import budget, put
from real.postgres import ADMIN, APP, OWNER, Postgres, postgres
from real.stores import CLOCK, opened, postgres_settings, sqlite_settings
from sqlalchemy import select, text, update

from adapters.base import Fault
from gateway.cli.db import app
from gateway.errors import StartError
from gateway.settings.store import StoreSettings
from gateway.store.database import Database, Session
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.fitness import check, problems
from gateway.store.migrating import as_sql, differences, downgrade, newest, upgrade
from gateway.store.schema import TENANT_TABLES, budgets, connections, tenants, tools


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A real PostgreSQL."""
    with postgres() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
async def settings(request: pytest.FixtureRequest, tmp_path: Path) -> StoreSettings:
    """A database at the newest revision."""
    if request.param == "sqlite":
        return await sqlite_settings(tmp_path)
    return await postgres_settings(request.getfixturevalue("server"))


@pytest.fixture
async def database(settings: StoreSettings) -> AsyncIterator[Database]:
    """Transactions on it."""
    async with opened(settings) as database:
        yield database


def _owner(settings: StoreSettings, server: Postgres) -> StoreSettings:
    if settings.is_sqlite:
        return settings
    return settings.model_copy(update={"user": OWNER, "password_file": server.passwords[OWNER]})


async def test_migrations_go_up_and_down_and_up_again(settings: StoreSettings, server: Postgres) -> None:
    """And leave exactly the tables that the code knows, and a database that may be used."""
    owner = _owner(settings, server)
    assert await differences(owner, CLOCK) == ""
    await downgrade(owner, CLOCK, to="0001")
    await downgrade(owner, CLOCK, to="base")
    async with opened(settings) as database:
        assert await problems(database) == ["the database has no schema; run `tollhouse db upgrade`"]
        assert await upgrade(owner, CLOCK, app_role=APP) == newest()
        assert await problems(database) == []
    assert await differences(owner, CLOCK) == ""


async def test_two_may_upgrade_at_once(tmp_path: Path, server: Postgres) -> None:
    """As replicas that start together do: one works, the other finds it done."""
    server.database("twice")
    for settings in (StoreSettings(url=f"sqlite:{tmp_path}/new/s.db"), server.settings("twice", OWNER)):
        both = await asyncio.gather(*(upgrade(settings, CLOCK, app_role=APP) for _ in range(2)))
        assert both == [newest()] * 2


async def test_an_old_database_is_refused_with_what_mends_it(settings: StoreSettings, server: Postgres) -> None:
    """Nothing is guessed about a schema that is not this gateway's."""
    await downgrade(_owner(settings, server), CLOCK, to="0001")
    async with opened(settings) as database:
        with pytest.raises(StartError) as caught:
            await check(database)
    assert caught.value.message == (
        f"the database is at revision 0001 and this gateway needs {newest()}; run `tollhouse db upgrade`"
    )


async def test_a_newer_database_is_refused_too(settings: StoreSettings, server: Postgres) -> None:
    """A gateway that was rolled back does not write into what it does not know."""
    async with opened(_owner(settings, server)) as owner, owner.tenant("acme") as session:
        await session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    async with opened(settings) as database:
        assert await problems(database) == [
            "the database is at revision 9999, which this gateway does not know; deploy a newer gateway"
        ]


async def test_what_a_transaction_does_is_done_whole_or_not_at_all(database: Database) -> None:
    """An error of the caller's own undoes it and goes its way."""

    async def fail() -> None:
        async with database.tenant("acme") as session:
            await put(session)
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    async with database.tenant("acme", is_read=True) as session:
        assert (await session.execute(select(tools))).all() == []
    async with database.tenant("acme") as session:
        await put(session)
    async with database.tenant("acme", is_read=True) as session:
        assert len((await session.execute(select(tools))).all()) == 1


async def test_no_update_is_lost(database: Database) -> None:
    """Of fifty at once that read a counter and write it back."""
    async with database.tenant("acme") as session:
        await session.execute(budgets.insert().values(budget("acme")))

    async def add_one() -> None:
        async with database.tenant("acme") as session:
            found = await session.execute(select(budgets.c.spent).with_for_update())
            await session.execute(update(budgets).values(spent=found.scalar_one() + 1))

    await asyncio.gather(*(add_one() for _ in range(50)))
    async with database.tenant("acme", is_read=True) as session:
        assert (await session.execute(select(budgets.c.spent))).scalar_one() == 50


async def test_a_broken_constraint_is_told_and_nothing_is_done(database: Database) -> None:
    """By its name where the database says it, and without any of the row's values."""
    with pytest.raises(StoreRefused) as caught:
        async with database.tenant("acme") as session:
            await session.execute(budgets.insert().values(budget("acme", spent=-77)))
    assert caught.value.constraint == "ck_budgets_nothing_is_negative"
    assert "77" not in str(caught.value)


async def test_a_read_cannot_write(settings: StoreSettings, database: Database) -> None:
    """On PostgreSQL, where a replica could be asked instead."""
    if settings.is_sqlite:
        async with database.tenant("acme", is_read=True) as session:
            assert (await session.execute(select(budgets))).all() == []
        return
    with pytest.raises(StoreDown) as caught:
        async with database.tenant("acme", is_read=True) as session:
            await session.execute(budgets.insert().values(budget("acme")))
    assert caught.value.fault is Fault.REFUSED


async def test_a_change_of_a_registry_is_seen_by_all(database: Database, settings: StoreSettings) -> None:
    """The counter is what replicas watch, for every tenant at once and without being one."""
    async with opened(settings) as replica:
        for expected in (0, 1):
            async with replica.nobody() as connection:
                found = (await connection.execute(select(tenants.c.registry_version))).scalars().all()
            assert found == ([] if expected == 0 else [1])
            async with database.tenant("acme") as session:
                is_ours = tenants.c.tenant == "acme"
                await session.execute(update(tenants).where(is_ours).values(registry_version=1))


async def test_a_row_that_others_point_at_stays(database: Database) -> None:
    """A tool's connection cannot be taken from under it."""
    async with database.tenant("acme") as session:
        await put(session)
    with pytest.raises(StoreRefused):
        async with database.tenant("acme") as session:
            await session.execute(connections.delete())


async def test_a_caller_that_leaves_undoes_its_transaction(database: Database) -> None:
    """And its connection is not given to others in the middle of it."""
    is_in = asyncio.Event()

    async def stay() -> None:
        async with database.tenant("acme") as session:
            await put(session)
            is_in.set()
            await asyncio.Event().wait()

    staying = asyncio.create_task(stay())
    await is_in.wait()
    staying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await staying
    async with database.tenant("acme") as session:
        assert (await session.execute(select(tools))).all() == []


async def _adds(session: Session) -> int:
    await put(session)
    return len((await session.execute(select(tools))).all())


async def test_work_that_is_handed_over_is_done_whole_or_not_at_all(database: Database) -> None:
    """It gives what it gives; what it raises goes its way, and what a constraint forbids is told as that."""

    async def fails(session: Session) -> None:
        await _adds(session)
        raise LookupError("mine")

    async def breaks(session: Session) -> None:
        await session.execute(budgets.insert().values(budget("acme", spent=-1)))

    with pytest.raises(LookupError, match="mine"):
        await database.run("acme", fails)
    with pytest.raises(StoreRefused):
        await database.run("acme", breaks)
    assert await database.run("acme", _adds) == 1
    with pytest.raises(StoreRefused):
        await database.run("acme", _adds)
    async with database.tenant("acme", is_read=True) as session:
        assert len((await session.execute(select(tools))).all()) == 1


async def test_many_that_hand_work_over_at_once_have_it_done_one_by_one(database: Database) -> None:
    """Each sees what those before it did."""
    async with database.tenant("acme") as session:
        await session.execute(budgets.insert().values(budget("acme")))

    async def spend(session: Session) -> int:
        await session.execute(update(budgets).values(spent=budgets.c.spent + 1))
        return int((await session.execute(select(budgets.c.spent))).scalar_one())

    assert sorted(await asyncio.gather(*(database.run("acme", spend) for _ in range(40)))) == list(range(1, 41))


def _without_end(settings: StoreSettings) -> str:
    """A statement that would never come to its end."""
    if not settings.is_sqlite:
        return "SELECT pg_sleep(3600)"
    return "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


async def test_work_that_takes_too_long_is_broken_off_and_undone(settings: StoreSettings) -> None:
    """Also in the middle of a statement; the next one is not held up."""
    async with opened(settings.model_copy(update={"timeout_ms": 500})) as database:
        await database.admit("acme")

        async def endless(session: Session) -> None:
            await _adds(session)
            await session.execute(text(_without_end(settings)))

        with pytest.raises(StoreDown):
            await database.run("acme", endless)
        assert await database.run("acme", _adds) == 1


async def test_a_caller_that_leaves_breaks_off_the_work_that_it_handed_over(settings: StoreSettings) -> None:
    """It is undone, and its connection is not given to others in the middle of it."""
    begun, loop = asyncio.Event(), asyncio.get_running_loop()
    async with opened(settings) as database:
        await database.admit("acme")

        async def endless(session: Session) -> None:
            await _adds(session)
            loop.call_soon_threadsafe(begun.set)
            await session.execute(text(_without_end(settings)))

        leaving = asyncio.create_task(database.run("acme", endless))
        await begun.wait()
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert await database.run("acme", _adds) == 1


class TestRoles:
    """Who may use a PostgreSQL."""

    @pytest.fixture
    async def settings(self, server: Postgres) -> StoreSettings:
        """A database at the newest revision."""
        return await postgres_settings(server)

    @staticmethod
    async def _refused(settings: StoreSettings, role: str, server: Postgres) -> str:
        password = server.passwords.get(role, server.passwords[APP])
        async with opened(settings.model_copy(update={"user": role, "password_file": password})) as database:
            with pytest.raises(StartError) as caught:
                await check(database)
        return "; ".join((caught.value.message, *caught.value.problems))

    async def test_a_superuser_is_refused(self, settings: StoreSettings, server: Postgres) -> None:
        """No policy holds one."""
        said = await self._refused(settings, ADMIN, server)
        assert said.startswith("the role postgres is a superuser, whom no policy holds; let the gateway log in with")

    async def test_the_owner_is_refused(self, settings: StoreSettings, server: Postgres) -> None:
        """It could take the policies away."""
        said = await self._refused(settings, OWNER, server)
        assert said.startswith("the role tollhouse_owner owns access_tokens,")
        assert "let the gateway log in with" in said

    @pytest.mark.parametrize(
        ("made", "told"),
        [
            (
                "CREATE ROLE {0} LOGIN BYPASSRLS",
                "the role {0} passes by row-level security; ALTER ROLE {0} NOBYPASSRLS",
            ),
            (
                "CREATE ROLE {0} LOGIN; GRANT postgres TO {0}",
                "can become postgres, whom no policy holds; REVOKE postgres",
            ),
            ("CREATE ROLE {0} LOGIN NOINHERIT; GRANT tollhouse_owner TO {0}", "or can become who does"),
        ],
    )
    async def test_who_can_pass_by_the_policies_is_refused(
        self, settings: StoreSettings, server: Postgres, made: str, told: str
    ) -> None:
        """By what it is or by what it may become, with what mends it."""
        role = f"role_{len(made)}"
        password = server.passwords[APP].read_text()
        server.sql(*made.format(role).split("; "), f"ALTER ROLE {role} PASSWORD '{password}'")
        assert told.format(role) in await self._refused(settings, role, server)

    @pytest.mark.parametrize(
        ("done", "told"),
        [
            ("ALTER TABLE tools NO FORCE ROW LEVEL SECURITY", "row-level security of tools is off; ALTER TABLE tools"),
            ("CREATE POLICY wide ON calls USING (true)", "the policy wide is not ours; DROP POLICY wide ON calls"),
            ("DROP POLICY of_tenant ON agents", "agents has lost its policy of_tenant"),
            ("ALTER POLICY of_tenant ON agents USING (true)", "agents has lost its policy of_tenant"),
            (
                "ALTER POLICY of_tenant ON agents USING ({0}) WITH CHECK ({0})".format(
                    "tenant = current_setting('app.tenant') OR version > 0"
                ),
                "agents has lost its policy of_tenant",
            ),
            ("GRANT TRUNCATE ON calls TO tollhouse_app", "may do more to calls than a gateway needs"),
            ("GRANT UPDATE ON audit_checkpoints TO tollhouse_app", "may do more to audit_checkpoints"),
            ("REVOKE INSERT ON calls FROM tollhouse_app", "may not write calls; run `tollhouse db upgrade`"),
            ("REVOKE SELECT ON alembic_version FROM tollhouse_app", "may not read alembic_version"),
        ],
    )
    async def test_a_database_that_was_weakened_is_refused(
        self, settings: StoreSettings, server: Postgres, done: str, told: str
    ) -> None:
        """Each way to weaken it is found, and mended by what is said."""
        server.sql(done, database=settings.server[2])
        assert told in await self._refused(settings, APP, server)

    async def test_without_the_role_nothing_is_migrated(self, server: Postgres) -> None:
        """A database that the gateway cannot use is no good."""
        server.database("roleless")
        owner = server.settings("roleless", OWNER)
        with pytest.raises(StartError, match="there is no role nobody_here"):
            await upgrade(owner, CLOCK, app_role="nobody_here")
        assert server.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", database="roleless") == "0"

    async def test_the_sql_for_an_administrator_does_the_same(self, server: Postgres) -> None:
        """Roles, tables, policies and grants, run by psql: what comes of it may be used."""
        server.sql("CREATE DATABASE by_hand")
        server.sql(as_sql(owner="hand_owner", app_role="hand_app"), database="by_hand")
        server.sql(f"ALTER ROLE hand_app PASSWORD '{server.passwords[APP].read_text()}'")
        async with opened(server.settings("by_hand", "hand_app")) as database:
            assert await problems(database) == []
            async with database.tenant("acme") as session:
                await put(session)

    async def test_no_table_of_a_tenant_is_without_row_level_security(
        self, settings: StoreSettings, server: Postgres
    ) -> None:
        """By the catalogue, whatever a migration forgot. FORCE holds the owner too."""
        unsecured = (
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant'"
            " WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace"
            " AND NOT (c.relrowsecurity AND c.relforcerowsecurity"
            " AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'of_tenant'))"
        )
        name = settings.server[2]
        assert server.sql(unsecured, database=name) == ""
        tables = server.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", database=name)
        assert set(tables.split()) == {*TENANT_TABLES, "alembic_version"}
        server.sql("CREATE TABLE forgotten (tenant text)", database=name)
        assert server.sql(unsecured, database=name) == "forgotten"


async def test_a_file_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    """An empty database would look like one that lost everything."""
    async with opened(StoreSettings(url=f"sqlite:{tmp_path}/none.db")) as database:
        assert await problems(database) == [f"there is no database {tmp_path}/none.db; run `tollhouse db upgrade`"]
        with pytest.raises(StoreDown):
            await database.admit("acme")
    assert not (tmp_path / "none.db").exists()


async def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    """What is beside it too."""
    settings = StoreSettings(url=f"sqlite:{tmp_path}/new/s.db")
    await upgrade(settings, CLOCK)
    async with opened(settings) as database, database.tenant("acme") as session:
        await put(session)
        modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "new").iterdir()}
    assert modes == {"s.db": 0o600, "s.db-wal": 0o600, "s.db-shm": 0o600}


def test_the_command_prepares_and_checks_a_server(server: Postgres, capsys: pytest.CaptureFixture[str]) -> None:
    """As the owner; the gateway's own role may use it, and the owner's may not."""
    server.database("by_command")
    url = f"postgresql://127.0.0.1:{server.port}/by_command"

    def run(command: str, role: str, *more: str) -> int:
        password = str(server.passwords[role])
        with pytest.raises(SystemExit) as done:
            app([command, "--url", url, "--user", role, "--password-file", password, *more], prog_name="tollhouse db")
        return int(done.value.code or 0)

    assert run("upgrade", OWNER, "--app-role", APP) == 0
    assert run("check", APP) == 0
    assert capsys.readouterr().out.splitlines() == [f"ok the database is at revision {newest()}"] * 2
    assert run("check", OWNER) == 1
    assert f"the role {OWNER} owns access_tokens" in capsys.readouterr().err
