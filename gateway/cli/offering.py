"""`registry import upstream`: what an MCP server or a gRPC service offers becomes proposed rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from adapters.base import Adapter
from adapters.recipes import Offer, ReadsDescriptions
from gateway.arguments.schema import compile_schema
from gateway.cli.calling import AsJson
from gateway.cli.importing import check_out, refusal, show, write_out
from gateway.cli.review import asked_now, connections_in, made_of, rows_in
from gateway.cli.terminal import complain, print_json
from gateway.errors import StartError
from gateway.importing.manifest import tools_written
from gateway.importing.offers import offered_names, proposed
from gateway.importing.proposing import LeftOut, ProposedTool
from gateway.importing.reasons import Skipped
from gateway.registry.making import Maker
from gateway.rows import Connection
from gateway.settings.load import Settings, load_settings

Json = dict[str, Any]


def upstream(  # noqa: PLR0913 - one parameter for each option
    connection: Annotated[str, typer.Argument(metavar="CONNECTION", help="The connection to the upstream.")],
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="The manifests that it stands in.")],
    *,
    config: Annotated[
        Path | None, typer.Option("--config", help="The settings: credentials, private targets, MCP commands.")
    ] = None,
    prefix: Annotated[
        str | None, typer.Option("--prefix", help="What the tools' names begin with. The connection when left out.")
    ] = None,
    descriptors: Annotated[
        Path | None,
        typer.Option(
            "--descriptors", help="Read this FileDescriptorSet instead of asking: for gRPC without reflection."
        ),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Only these, by the upstream's name. Repeatable.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write here, and not to standard output.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over what is there.")] = False,
    json: AsJson = False,
) -> None:
    """Propose a tool for everything that a connection's upstream (an MCP server, a gRPC service with reflection) offers
    now, pinned to what it is now. Nothing is applied.

    Example: tollhouse registry import upstream docs registry/ --config tollhouse.yaml --out registry/docs-tools.yaml
    """
    check_out(out, force=force)
    settings = load_settings(config) if config else Settings()
    of, offers, maker = _offered(settings, connection, paths, descriptors)
    wanted = [offer for offer in offers if not only or offer.name in only]
    tools, skipped = _proposed(wanted, of, connection if prefix is None else prefix, maker)
    text = tools_written(tools, skipped, source=f"what {connection} offers")
    if out is not None:
        write_out(out, text, force=force)
    if json:
        print_json(_summary(tools, skipped, out, text))
    else:
        show(tools, skipped, out, text)
    if not tools:
        complain("no tool is proposed; look at why, or choose otherwise by --only")
        raise typer.Exit(1)


def _offered(
    settings: Settings, name: str, paths: list[Path], description: Path | None
) -> tuple[Connection, Sequence[Offer], Maker]:
    """The connection and what its upstream offers. Raises `StartError`."""
    maker, adapters = made_of(settings)
    found = connections_in(rows_in(paths).connections, [name], maker)
    if len(found) > 1:
        raise StartError(f"several tenants have a connection {name!r}; give the manifests of one alone")
    if description is not None:
        return found[0], _described(adapters.get(found[0].vendor), description), maker
    (answer,) = asked_now(settings, found, adapters)
    if answer.problem:
        raise StartError(f"the upstream of {name} did not say what it offers: {answer.problem}")
    return answer.connection, answer.offers, maker


def _described(adapter: Adapter | None, file: Path) -> Sequence[Offer]:
    """What a file says that the upstream offers. Raises `StartError`."""
    if not isinstance(adapter, ReadsDescriptions):
        raise StartError("no file describes an upstream of this kind; leave --descriptors out")
    try:
        return adapter.offers_in(file.read_bytes())
    except OSError as error:
        raise StartError(f"{file} cannot be read: {error.strerror}; name another file") from error
    except ValueError as error:
        raise StartError(f"{file} cannot be used: {error}") from error


def _proposed(
    offers: list[Offer], connection: Connection, prefix: str, maker: Maker
) -> tuple[list[ProposedTool], list[LeftOut]]:
    names = offered_names(offers, prefix)
    tools, skipped = [], []
    for offer in offers:
        try:
            tools.append(_tool(offer, names[offer.name], connection, maker))
        except Skipped as why:
            skipped.append(LeftOut(operation=offer.name, reason=why.reason))
    return tools, skipped


def _tool(offer: Offer, name: str | None, connection: Connection, maker: Maker) -> ProposedTool:
    """Raises `Skipped`."""
    if name is None:
        raise Skipped("its name cannot be told apart from another's")
    found = proposed(
        offer, name=name, adapter=connection.vendor, connection=connection.name, compile_schema=compile_schema
    )
    if why := refusal(maker, found.row):
        raise Skipped(f"the registry would refuse it: {why}")
    return found


def _summary(tools: list[ProposedTool], skipped: list[LeftOut], out: Path | None, text: str) -> Json:
    return {
        "tools": [{"upstream": tool.operation, "name": tool.row["name"], "notes": list(tool.notes)} for tool in tools],
        "skipped": [{"upstream": one.operation, "reason": one.reason} for one in skipped],
        "out": None if out is None else str(out),
        "manifest": text if out is None else None,
    }
