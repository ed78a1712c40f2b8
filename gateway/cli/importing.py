"""`registry import`: what others publish of their services becomes proposed rows, which a person edits and applies."""

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.progress import Progress

from adapters.base import Adapter
from gateway.arguments.schema import compile_schema
from gateway.cli.terminal import complain, print_json, shown, table, terminal
from gateway.documents import MAX_FILE_BYTES, Document, Problem
from gateway.errors import StartError
from gateway.importing.manifest import written
from gateway.importing.names import snake
from gateway.importing.pasted import shown_url
from gateway.importing.proposing import LeftOut, Proposal, ProposedTool, Wishes, propose, reasons_of
from gateway.importing.reading import read_description
from gateway.registry.making import Maker
from gateway.registry.manifest import ConnectionRow, ToolRow
from gateway.registry.places import Placed
from gateway.settings.load import Settings

Json = dict[str, Any]

MOST_REASONS = 12
"""Lines about what was skipped; the manifest has all of them."""
_CONNECTION = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
_TENANT = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")

app = typer.Typer(
    help="Propose rows for the tools that a service describes. A person edits them, and applies them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def importing() -> None:
    """Propose rows for the tools that a service describes. A person edits them, and applies them."""


@app.command()
def openapi(  # noqa: PLR0913 - one parameter for each option
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An OpenAPI 3.0 or 3.1 document, JSON or YAML.")],
    *,
    tenant: Annotated[str, typer.Option("--tenant", help="Whose connection it is.")],
    connection: Annotated[
        str, typer.Option("--connection", help="The connection's name. Made of the document's title when left out.")
    ] = "",
    prefix: Annotated[
        str | None, typer.Option("--prefix", help="What the tools' names begin with. The connection when left out.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="GLOB", help="Only these: tag:NAME, path:GLOB, or a tool's name. Repeatable."),
    ] = None,
    base_url: Annotated[
        str, typer.Option("--base-url", help="Where the service is. The document's first server when left out.")
    ] = "",
    out: Annotated[Path | None, typer.Option("--out", help="Write here, and not to standard output.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over what is there.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
) -> None:
    """Propose a tool for every operation of an OpenAPI document. Nothing is fetched, and nothing is applied.

    Example: tollhouse registry import openapi crm.yaml --tenant acme --connection crm --out registry/crm.yaml
    """
    check_out(out, force=force)
    document = read_description(file)
    wishes = Wishes(
        connection=_name(connection or _titled(document), "--connection", _CONNECTION),
        tenant=_name(tenant, "--tenant", _TENANT),
        prefix=prefix,
        only=tuple(only or ()),
        base_url=base_url,
    )
    maker = _maker()
    with progress_bar() as tell:
        proposal = propose(
            document, wishes, compile_schema=compile_schema, refusal=lambda row: refusal(maker, row), tell=tell
        )
    _check_connection(maker, proposal.connection.row)
    text = _fitting(written(proposal, source=file.name))
    if out is not None:
        write_out(out, text, force=force)
    if json:
        print_json(summary(proposal, out, text))
    else:
        show(proposal.tools, proposal.skipped, out, text)
    if not proposal.tools:
        complain("no tool is proposed; look at why, or choose otherwise by --only")
        raise typer.Exit(1)


def refusal(maker: Maker, row: Json) -> str:
    """Why the registry would refuse a tool's row; empty when it takes it."""
    try:
        placed = Placed(row=ToolRow.model_validate(row), document=Document(file="", value=row, lines={}), at=())
    except ValidationError as error:
        return str(error.errors(include_url=False, include_input=False)[0]["msg"])
    made = maker.tool(placed)
    if made.named:
        return f"the description names {', '.join(sorted(made.named))}, which is no argument"
    return _first(made.problems)


def summary(proposal: Proposal, out: Path | None, text: str) -> Json:
    """What was proposed and what was not, for a script. The manifest is in it when it is in no file."""
    return {
        "connection": proposal.connection.row["name"],
        "tools": len(proposal.tools),
        "names": [tool.row["name"] for tool in proposal.tools],
        "skipped": [{"operation": one.operation, "reason": one.reason} for one in proposal.skipped],
        "left_out": [{"tool": tool.row["name"], "parts": list(tool.notes)} for tool in proposal.tools if tool.notes],
        "out": None if out is None else str(out),
        "manifest": text if out is None else None,
    }


def _maker() -> Maker:
    from gateway.app import install_adapters  # noqa: PLC0415 - every adapter, and other commands need none
    from gateway.clock import SystemClock  # noqa: PLC0415

    settings = Settings()
    adapters: Mapping[str, Adapter] = install_adapters(settings, SystemClock())
    return Maker(adapters=adapters, settings=settings, compile_schema=compile_schema)


def _first(problems: tuple[Problem, ...]) -> str:
    """A sentence for the first of the problems that are no warnings."""
    found = [problem for problem in problems if not problem.is_warning]
    return f"{found[0].path}: {found[0].message}"[:250] if found else ""


def _check_connection(maker: Maker, row: Json) -> None:
    document = Document(file="", value=row, lines={})
    made = maker.connection(Placed(row=ConnectionRow.model_validate(row), document=document, at=()))
    wrong = [problem.message for problem in made.problems if not problem.is_warning]
    if wrong:
        url = row["options"]["base_url"]
        raise StartError(f"no connection can be made to {shown_url(url)}; give another --base-url", tuple(wrong))


def _titled(document: Mapping[str, Any]) -> str:
    info = document.get("info")
    title = info.get("title") if isinstance(info, dict) else None
    return snake(title)[:40].strip("_") if isinstance(title, str) else ""


def _name(text: str, option: str, form: re.Pattern[str]) -> str:
    if not form.fullmatch(text):
        raise StartError(f"{text[:80]!r} is no name here; give {option} in lower case, beginning with a letter")
    return text


def _fitting(text: str) -> str:
    if len(text.encode()) > MAX_FILE_BYTES:
        most = MAX_FILE_BYTES >> 20
        raise StartError(f"the rows take more than the {most} MiB that a manifest may have; choose fewer by --only")
    return text


def check_out(out: Path | None, *, force: bool) -> None:
    """Raises `StartError` when something is there that may not be written over."""
    if out is not None and out.is_symlink():
        raise StartError(f"{out} is a link; name the file that it leads to")
    if out is not None and out.exists() and not force:
        raise StartError(f"{out} is there already; give --force to write over it")


def write_out(out: Path, text: str, *, force: bool) -> None:
    """The file holds the manifest. Raises `StartError`."""
    try:
        with open(out, "w" if force else "x", encoding="utf-8", opener=_unlinked) as file:
            file.write(text)
    except OSError as error:
        raise StartError(f"{out} cannot be written: {error.strerror}; name another file") from error


def _unlinked(path: str, flags: int) -> int:
    """Whoever puts a link there meanwhile does not choose what is written over."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[int, int], None]]:
    """A bar of how many operations are done, on a terminal alone; gone at the end."""
    console = terminal(sys.stderr)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("importing", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def show(tools: Sequence[ProposedTool], skipped: Sequence[LeftOut], out: Path | None, text: str) -> None:
    """The manifest, unless it is in a file; and on standard error how it went."""
    if out is None:
        if sys.stdout.isatty():
            terminal().print(shown(text, lines=True), soft_wrap=True)
        else:
            sys.stdout.write(text)
    console = terminal(sys.stderr)
    where = "" if out is None else f" in {out}"
    told = f"Tools proposed{where}: {len(tools)}. Operations skipped: {len(skipped)}."
    console.print(shown(told), soft_wrap=True)
    if skipped:
        made = table("skipped", "why")
        for reason, count in reasons_of(skipped)[:MOST_REASONS]:
            made.add_row(str(count), shown(reason))
        console.print(made)
