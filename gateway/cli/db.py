"""`db upgrade`, `db check` and `db sql`: the database that keeps what must outlive a gateway."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pydantic
import typer
from rich.text import Text

from gateway.cli.terminal import complain, print_json, shown, terminal
from gateway.clock import SystemClock
from gateway.documents import Unreadable, parse, read_document
from gateway.errors import StartError
from gateway.settings.store import StoreSettings
from gateway.store import fitness, migrating
from gateway.store.database import Database
from gateway.store.failures import StoreDown
from gateway.store.grants import APP_ROLE, OWNER

app = typer.Typer(
    help="Prepare and check the database: SQLite, or PostgreSQL.", no_args_is_help=True, rich_markup_mode=None
)
T = TypeVar("T")

Config = Annotated[Path | None, typer.Option("--config", "-c", help="Settings file; its `store` says which database.")]
Url = Annotated[
    str, typer.Option("--url", help="sqlite:PATH or postgresql://HOST/DATABASE, when there is no settings file.")
]
User = Annotated[str, typer.Option("--user", help="Role of PostgreSQL to log in with, instead of the settings' own.")]
PasswordFile = Annotated[Path | None, typer.Option("--password-file", help="Holds the password of --user.")]
CaFile = Annotated[Path | None, typer.Option("--ca-file", help="Certificates that may vouch for the server.")]
AppRole = Annotated[str, typer.Option("--app-role", help="The role that gateways log in with.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def upgrade(  # noqa: PLR0913 - a command's options are its parameters
    *,
    config: Config = None,
    url: Url = "",
    user: User = "",
    password_file: PasswordFile = None,
    ca_file: CaFile = None,
    app_role: AppRole = "",
    json: Json = False,
) -> None:
    """Bring the database to the newest revision, all or nothing, and grant the gateway's role what it needs.

    On PostgreSQL log in as whoever owns the tables, or is to: never as the gateway's own role. That one has to be
    there already (see `tollhouse db sql`). Harmless when there is nothing to do.

    Example: tollhouse db upgrade --url sqlite:.tollhouse/store.db

    Example: tollhouse db upgrade --config tollhouse.yaml --user tollhouse_owner --password-file owner.password
    """
    found = _settings(config, url, user, password_file, ca_file)
    role = app_role or _role(config) or APP_ROLE
    revision = _run(migrating.upgrade(found, SystemClock(), app_role=role))
    if json:
        print_json({"ok": True, "revision": revision})
    else:
        terminal().print(Text("ok", style="bold green"), f"the database is at revision {revision}")


@app.command()
def check(
    *,
    config: Config = None,
    url: Url = "",
    user: User = "",
    password_file: PasswordFile = None,
    ca_file: CaFile = None,
    json: Json = False,
) -> None:
    """Say whether a gateway may use the database: its revision, and on PostgreSQL its role and its policies.

    The same is checked when a gateway starts. The exit code is 1 when it may not, and each line says what mends it.

    Example: tollhouse db check --config tollhouse.yaml
    """
    problems = _run(_problems(_settings(config, url, user, password_file, ca_file)))
    if json:
        print_json({"ok": not problems, "problems": problems})
    elif problems:
        complain("the database cannot be used as it is; correct what is listed", problems)
    else:
        terminal().print(Text("ok", style="bold green"), f"the database is at revision {migrating.newest()}")
    if problems:
        raise typer.Exit(1)


@app.command()
def sql(
    *,
    owner: Annotated[str, typer.Option("--owner", help="The role that owns the tables.")] = OWNER,
    app_role: AppRole = APP_ROLE,
    json: Json = False,
) -> None:
    """Print roles, tables, policies and grants as SQL for PostgreSQL, to be read and run by who administers it.

    No role gets a password by it: add how yours are to log in.

    Example: tollhouse db sql | psql -v ON_ERROR_STOP=1 -d tollhouse
    """
    text = migrating.as_sql(owner=owner, app_role=app_role)
    if json:
        print_json({"sql": text})
    else:
        terminal().print(shown(text.rstrip("\n"), lines=True), soft_wrap=True)


async def _problems(settings: StoreSettings) -> list[str]:
    database = Database(settings, SystemClock())
    try:
        return await fitness.problems(database)
    finally:
        await database.close()


def _run(work: Coroutine[Any, Any, T]) -> T:
    async def told() -> T:
        try:
            return await work
        except StoreDown as down:
            raise StartError(f"{down}; look at its address and its log") from down

    return asyncio.run(told())


def _settings(
    config: Path | None, url: str, user: str, password_file: Path | None, ca_file: Path | None
) -> StoreSettings:
    """What the options say. Raises `StartError`."""
    if (config is None) == (not url):
        raise StartError("name the database by either --config or --url")
    given = {"user": user, "password_file": password_file, "ca_file": ca_file}
    given = {name: value for name, value in given.items() if value}
    try:
        if config is None:
            return StoreSettings.model_validate({"url": url} | given)
        return StoreSettings.model_validate(_of_file(config).model_dump() | given)
    except pydantic.ValidationError as error:
        problems = (issue["msg"].removeprefix("Value error, ") for issue in error.errors(include_input=False))
        raise StartError("the database cannot be used as it is named", tuple(problems)) from None


def _role(config: Path | None) -> str:
    """The role of the settings: the gateway's own, whoever the command logs in as."""
    return "" if config is None else _of_file(config).user


def _of_file(path: Path) -> StoreSettings:
    """The part `store` of a settings file, and of it alone. Raises `StartError`."""
    try:
        document = read_document(path)
    except Unreadable as error:
        raise StartError(f"the settings in {path} cannot be read", (str(error.problem),)) from error
    if not isinstance(document.value, dict) or "store" not in document.value:
        raise StartError(f"there is no `store` in {path}; add it, or name the database by --url")
    settings, problems = parse(StoreSettings, document, at=("store",))
    if settings is None:
        raise StartError(f"the settings in {path} cannot be used; correct what is listed", tuple(map(str, problems)))
    return settings.anchored(path.absolute().parent)
