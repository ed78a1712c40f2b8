"""`audit key`, `audit export` and `audit checkpoints`: what is made once, and what is handed over."""

import asyncio
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, BinaryIO

import pydantic
import typer

from gateway.audit.notes import VerificationKey
from gateway.audit.signing import make_key, parsed_keys, read_key
from gateway.audit.verify_tenant import lines_of_tenant
from gateway.cli.terminal import print_json, shown, terminal
from gateway.clock import SystemClock
from gateway.errors import StartError
from gateway.settings.store import StoreSettings

Output = Annotated[Path, typer.Option("--output", "-o", help="A file that is not there yet.")]
Tenant = Annotated[str, typer.Option("--tenant", help="Whose.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def key(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Where the private key is, or is to be.")],
    *,
    name: Annotated[str, typer.Option("--name", help="What the key is called: one word, such as your host's.")] = (
        "tollhouse/audit"
    ),
    show: Annotated[bool, typer.Option("--show", help="Make nothing; print the verification key of FILE.")] = False,
    json: Json = False,
) -> None:
    """Make a key that signs checkpoints, and print the key that verifies them.

    Keep the verification key where whoever verifies will find it: nothing in the gateway's own reach.

    Example: tollhouse audit key /etc/tollhouse/audit.key --name gw1.example.com/audit
    """
    made = read_key(path)[0] if show else make_key(path, name, secrets.token_bytes(32))
    if json:
        print_json({"key_file": str(path), "verification_key": str(made)})
    else:
        terminal().print(shown(made), soft_wrap=True)


def export(
    directory: Annotated[Path, typer.Argument(metavar="[DIR]", help="The audit directory.")] = Path(".tollhouse/audit"),
    *,
    tenant: Tenant,
    output: Output,
    json: Json = False,
) -> None:
    """Write one tenant's lines to a file, as they were written, to be handed over.

    They verify without the rest: `tollhouse audit verify FILE --tenant NAME`. Their numbers tell how many lines
    other tenants had in between, and nothing else of them.

    Example: tollhouse audit export --tenant acme -o acme.jsonl
    """
    count = _write(output, lines_of_tenant(directory, tenant))
    _print_written(count, "line", output, json=json)


def checkpoints(
    *,
    url: Annotated[str, typer.Option("--url", help="postgresql://HOST/DATABASE or sqlite:PATH.")],
    tenant: Tenant,
    output: Output,
    user: Annotated[str, typer.Option("--user", help="Role of PostgreSQL to log in with.")] = "",
    password_file: Annotated[Path | None, typer.Option("--password-file", help="Holds its password.")] = None,
    json: Json = False,
) -> None:
    """Write the checkpoints of a tenant, which all replicas keep in the database, to a file.

    Example: tollhouse audit checkpoints --url sqlite:.tollhouse/store.db --tenant acme -o acme.notes
    """
    try:
        settings = StoreSettings(url=url, user=user, password_file=password_file)
    except pydantic.ValidationError as error:
        problems = (issue["msg"].removeprefix("Value error, ") for issue in error.errors(include_input=False))
        raise StartError("the database cannot be used as it is named", tuple(problems)) from None
    notes = asyncio.run(_notes(settings, tenant))
    _print_written(_write(output, (note + b"\n" for note in notes)), "checkpoint", output, json=json)


def read_keys(texts: Iterable[str]) -> tuple[VerificationKey, ...]:
    """The keys, each as it is or in a file, one a line. Raises `StartError`."""
    return parsed_keys(line for text in texts for line in _lines(text))


def _lines(text: str) -> Iterator[str]:
    if "+" in text and not Path(text).is_file():
        yield text
        return
    try:
        content = Path(text).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise StartError(f"{text!r} is neither a verification key nor a file that holds one") from error
    yield from (line for line in content.splitlines() if line.strip())


async def _notes(settings: StoreSettings, tenant: str) -> list[bytes]:
    from gateway.store.checkpoints import every  # noqa: PLC0415 - SQLAlchemy: for this command alone
    from gateway.store.database import Database  # noqa: PLC0415
    from gateway.store.failures import StoreDown, StoreRefused  # noqa: PLC0415

    database = Database(settings, SystemClock())
    try:
        async with database.tenant(tenant, is_read=True) as session:
            return [kept.note for kept in await every(session)]
    except (StoreDown, StoreRefused) as error:
        raise StartError(f"{error}; look at its address and its log") from error
    finally:
        await database.close()


def _write(path: Path, parts: Iterable[bytes]) -> int:
    """A new file that its owner alone can read. Returns how many parts it has."""
    try:
        with _created(path) as file:
            count = 0
            for part in parts:
                file.write(part)
                count += 1
            return count
    except OSError as error:
        raise StartError(f"{path} cannot be written: {error.strerror}; name a file that is new") from error


def _created(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


def _print_written(count: int, what: str, path: Path, *, json: bool) -> None:
    if json:
        print_json({f"{what}s": count, "output": str(path)})
    else:
        terminal().print(shown(f"{count} {what}{'' if count == 1 else 's'} written to {path}"), soft_wrap=True)
    if not count:
        raise typer.Exit(1)
