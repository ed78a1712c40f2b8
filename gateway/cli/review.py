"""`registry review`: what upstreams publish today against what somebody has accepted of it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from adapters.base import Adapter
from adapters.recipes import Offers
from gateway.arguments.schema import compile_schema
from gateway.cli.calling import AsJson
from gateway.cli.importing import refusal
from gateway.cli.manifests import Planned, difference
from gateway.cli.reviewing import Finding, Standing, accepted, findings
from gateway.cli.rewriting import rewritten, save, text_of
from gateway.cli.terminal import print_json, shown, table, terminal
from gateway.cli.upstreams import Upstream, asked
from gateway.clock import SystemClock
from gateway.errors import StartError
from gateway.importing.reasons import Skipped
from gateway.registry.making import Maker
from gateway.registry.manifest import ConnectionRow, ToolRow
from gateway.registry.places import Placed, Rows, read_rows
from gateway.rows import Connection
from gateway.settings.load import Settings, load_settings

Json = dict[str, Any]

_STYLES = {
    Standing.ACCEPTED: "green",
    Standing.NEW: "cyan",
    Standing.CHANGED: "yellow",
    Standing.GONE: "red",
    Standing.UNUSABLE: "red",
    Standing.UNKNOWN: "red",
}
_DIFFERENCES = {"+": "green", "-": "red", "@": "cyan"}


def review(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders of manifests.")],
    *,
    config: Annotated[
        Path | None, typer.Option("--config", help="The settings: credentials, private targets, MCP commands.")
    ] = None,
    connection: Annotated[
        list[str] | None, typer.Option("--connection", help="Ask the upstreams of these alone. Repeatable.")
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", metavar="TOOL", help="Write the tool's row anew as it accepts what it became."),
    ] = None,
    pin_only: Annotated[
        bool, typer.Option("--pin-only", help="Accept under the texts and schemas that the row has already.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Ask upstreams what they publish, and show what differs from the rows that are pinned to it. What has changed
    is not called until somebody has accepted it here. The exit code is 1 while something waits for a person.

    Example: tollhouse registry review registry/ --config tollhouse.yaml

    Example: tollhouse registry review registry/ --config tollhouse.yaml --accept docs_search
    """
    settings = load_settings(config) if config else Settings()
    found, maker = _found(settings, paths, connection or ())
    for name in accept or ():
        found = _accept(paths, found, name, maker, is_pin_only=pin_only)
    if json:
        print_json({"findings": [_told(one) for one in found]})
    else:
        _print(found)
    raise typer.Exit(1 if any(one.standing.waits for one in found) else 0)


def connections_in(placed: Sequence[Placed[ConnectionRow]], names: Sequence[str], maker: Maker) -> list[Connection]:
    """Those of the names, or all of them whose upstreams say what they can do. Raises `StartError`."""
    known = {one.row.name for one in placed}
    if unknown := sorted(set(names) - known):
        raise StartError(f"the manifests have no connection {unknown[0]!r}; they have: {', '.join(sorted(known))}")
    made = [maker.connection(one) for one in placed if not names or one.row.name in names]
    wrong = tuple(str(problem) for one in made for problem in one.problems if not problem.is_warning)
    if wrong:
        raise StartError("a connection cannot be used; correct what is listed", wrong)
    return [one.connection for one in made if names or isinstance(maker.adapters.get(one.connection.vendor), Offers)]


def asked_now(settings: Settings, connections: Sequence[Connection], adapters: dict[str, Adapter]) -> list[Upstream]:
    """What their upstreams say, with a sign of life for whoever waits. Closes the adapters. Raises `StartError`."""

    async def ask() -> list[Upstream]:
        try:
            return await asked(settings, connections, adapters)
        finally:
            for adapter in adapters.values():
                await adapter.close()

    with terminal().status(f"asking {len(connections)} upstreams ..."):
        return asyncio.run(ask())


def made_of(settings: Settings) -> tuple[Maker, dict[str, Adapter]]:
    """What makes rows under these settings, and the adapters that it knows."""
    from gateway.app import install_adapters  # noqa: PLC0415 - every adapter, and other commands need none

    adapters = install_adapters(settings, SystemClock())
    return Maker(adapters=adapters, settings=settings, compile_schema=compile_schema), adapters


def rows_in(paths: list[Path]) -> Rows:
    """Every row of these manifests. Raises `StartError` with every problem."""
    rows, problems = read_rows(paths, {})
    wrong = tuple(str(problem) for problem in problems if not problem.is_warning)
    if wrong:
        raise StartError("the manifests cannot be used; correct what is listed", wrong)
    return rows


def _found(settings: Settings, paths: list[Path], names: Sequence[str]) -> tuple[list[Finding], Maker]:
    rows = rows_in(paths)
    maker, adapters = made_of(settings)
    upstreams = asked_now(settings, connections_in(rows.connections, names, maker), adapters)
    return list(findings([_written(one) for one in rows.tools], upstreams)), maker


def _written(placed: Placed[ToolRow]) -> Json:
    """The row as it stands in its manifest."""
    list_name, index = placed.at
    row: Json = placed.document.value[list_name][index]
    return row


def _accept(paths: list[Path], found: list[Finding], name: str, maker: Maker, *, is_pin_only: bool) -> list[Finding]:
    """The findings once the tool's row is written anew. Raises `StartError`; nothing was written then."""
    of_tool = _to_accept(found, name)
    if of_tool.standing is Standing.ACCEPTED:
        return found
    try:
        row = accepted(of_tool, is_pin_only=is_pin_only)
    except Skipped as skipped:
        raise StartError(f"{name} cannot be accepted: {skipped.reason}") from skipped
    if why := refusal(maker, row):
        raise StartError(f"{name} cannot be accepted, since the registry would refuse it: {why}")
    assert of_tool.row is not None
    _write(paths, of_tool.row, row)
    return [replace(one, standing=Standing.ACCEPTED, row=row) if one.tool == name else one for one in found]


def _to_accept(found: Sequence[Finding], name: str) -> Finding:
    """What the tool's row would have to accept. Raises `StartError` when there is no such thing, or more than one: a
    connection may be of several tenants, and a row is one for all of them.
    """
    of_tool = [one for one in found if one.tool == name]
    if not of_tool:
        raise StartError(f"no row {name!r} is bound to an upstream that was asked; nothing was accepted")
    for one in of_tool:
        if one.standing not in (Standing.ACCEPTED, Standing.CHANGED):
            raise StartError(f"{name} cannot be accepted, since it is {one.standing}: {one.why or 'see the table'}")
    first, *others = of_tool
    if any(one.row != first.row or one.digest != first.digest for one in others):
        tenants = ", ".join(one.tenant for one in of_tool)
        raise StartError(
            f"{name} cannot be accepted, since what {tenants} are offered under its connection is not the same, or "
            "the row stands twice; bind a row of its own to each"
        )
    return next((one for one in of_tool if one.standing is Standing.CHANGED), first)


def _write(paths: list[Path], before: Json, after: Json) -> None:
    """Anew from the file: a row before this one may have been written just now. Raises `StartError`, also when somebody
    else has written this one meanwhile: what they decided would be lost.
    """
    rows, _ = read_rows(paths, {})
    placed = [one for one in rows.tools if one.row.name == before["name"]]
    if len(placed) != 1 or _written(placed[0]) != before:
        raise StartError(f"the row {before['name']} was changed meanwhile; nothing was accepted: look at it again")
    file = Path(placed[0].document.file)
    save(file, rewritten(text_of(file), placed[0].document, placed[0].at, after))


def _told(finding: Finding) -> Json:
    return {
        "connection": finding.connection,
        "tenant": finding.tenant,
        "upstream": finding.upstream,
        "tool": finding.tool,
        "standing": finding.standing.value,
        "why": finding.why,
        "difference": _difference(finding),
    }


def _print(found: Sequence[Finding]) -> None:
    if not found:
        terminal().print("No connection's upstream says what it can do, so there is nothing to review.")
        return
    made = table("connection", "upstream", "tool", "standing", "why")
    for one in found:
        standing = shown(one.standing, style=_STYLES[one.standing])
        made.add_row(
            shown(one.connection), shown(one.upstream), shown(one.tool, style="cyan"), standing, shown(one.why)
        )
    terminal().print(made)
    for one in found:
        for line in _difference(one).splitlines():
            terminal().print(shown(line, style=_DIFFERENCES.get(line[:1], "")), soft_wrap=True)


def _difference(finding: Finding) -> str:
    """What accepting it would change in its row; empty when there is nothing to accept."""
    if finding.standing is not Standing.CHANGED:
        return ""
    try:
        after = accepted(finding, is_pin_only=False)
    except Skipped:
        return ""
    planned = Planned(kind="tool", name=finding.tool, version=0, before=finding.row, after=after)
    return difference(planned, "accepted", "offered")
