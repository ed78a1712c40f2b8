"""`registry`: manifests before a gateway is started on them, and the rows of one that runs."""

import json as json_module
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from gateway.cli import importing
from gateway.cli.calling import AsJson
from gateway.cli.client import Where
from gateway.cli.control import Control, controlling
from gateway.cli.manifests import LISTS, Key, Planned, Present, difference, plan, wanted_in, written
from gateway.cli.offering import upstream
from gateway.cli.reaching import at_control
from gateway.cli.review import review
from gateway.cli.terminal import complain, print_json, shown, table, terminal
from gateway.clock import SystemClock
from gateway.documents import Problem
from gateway.errors import StartError
from gateway.settings.load import Settings, load_settings
from gateway.settings.parts import RegistrySettings
from gateway.v1 import registry_service_pb2 as pb
from gateway.v1.registry_service_pb2_grpc import RegistryServiceStub

SECONDS = 120.0
"""How long a change may take: policy is tried on every tool that is new."""
_STYLES = {"create": "green", "update": "yellow", "delete": "red"}
_KINDS = {"connection": pb.ROW_KIND_CONNECTION, "tool": pb.ROW_KIND_TOOL, "agent": pb.ROW_KIND_AGENT}
_NAMES = {number: kind for kind, number in _KINDS.items()}

Paths = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders of manifests.")]
Prune = Annotated[bool, typer.Option("--prune", help="Also delete the rows that the manifests do not have.")]

app = typer.Typer(
    help="Check manifests of tools, connections and agents, and change the registry of a running gateway.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
importing.app.command()(upstream)
app.add_typer(importing.app, name="import")
app.command()(review)


@app.command()
def check(
    paths: Paths,
    *,
    config: Annotated[
        Path | None, typer.Option("--config", help="Settings, for what they allow: credentials, scopes, timeouts.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the problems as JSON.")] = False,
) -> None:
    """Say everything that is wrong with manifests, each with file, line and rule. For CI.

    Example: tollhouse registry check registry/ --config tollhouse.yaml
    """
    problems = _problems(load_settings(config) if config else Settings(), paths)
    errors = [problem for problem in problems if not problem.is_warning]
    if json:
        print_json({"ok": not errors, "problems": [asdict(problem) for problem in problems]})
    else:
        _print(problems, errors)
    raise typer.Exit(1 if errors else 0)


@app.command()
@at_control
def apply(
    paths: Paths,
    *,
    prune: Prune = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Have everything checked, and change nothing.")] = False,
    to: Where,
    json: AsJson = False,
) -> None:
    """Make the registry of a running gateway as these manifests have it: all of it, or nothing.

    Example: tollhouse registry apply registry/ --socket .tollhouse/control.sock
    """
    wanted = wanted_in(paths)
    with _asking(to) as (control, stub):
        planned = plan(wanted, _present(control, stub), prune=prune)
        problems = _apply(control, stub, planned, validate_only=dry_run) if planned else []
    if json:
        print_json({"changes": _told(planned), "problems": problems, "applied": not (dry_run or problems)})
    elif problems:
        complain("nothing was changed; correct what is listed", (_sentence(problem) for problem in problems))
    else:
        _print_plan(planned)
        terminal().print("Nothing was changed: this was a dry run." if dry_run and planned else "")
    raise typer.Exit(1 if problems else 0)


@app.command()
@at_control
def diff(
    paths: Paths,
    *,
    prune: Prune = False,
    to: Where,
    json: AsJson = False,
) -> None:
    """Show what `apply` would change. The exit code is 1 when the two differ.

    Example: tollhouse registry diff registry/ --prune
    """
    wanted = wanted_in(paths)
    with _asking(to) as (control, stub):
        planned = plan(wanted, _present(control, stub), prune=prune)
    if json:
        print_json(
            {"changes": [told | {"diff": difference(one)} for one, told in zip(planned, _told(planned), strict=True)]}
        )
    else:
        _print_plan(planned)
        for one in planned:
            _print_difference(one)
    raise typer.Exit(1 if planned else 0)


@app.command()
@at_control
def export(
    *,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the manifest here, and not to standard output.")
    ] = None,
    to: Where,
    json: AsJson = False,
) -> None:
    """Write the registry of a running gateway as a manifest. Applying it changes nothing.

    Example: tollhouse registry export --out registry.yaml
    """
    with _asking(to) as (control, stub):
        rows = _listed(control, stub)
    if json:
        print_json({"rows": [_row(row) for row in rows]})
        return
    text = written((_NAMES[row.kind], _value(row)) for row in rows)
    if out is None:
        _print_manifest(text)
        return
    try:
        out.write_text(text, "utf-8")
    except OSError as error:
        raise StartError(f"{out} cannot be written: {error.strerror}; name another file") from error
    terminal().print(shown(f"{len(rows)} rows are in {out}"))


@app.command(name="list")
@at_control
def list_rows(
    *,
    to: Where,
    json: AsJson = False,
) -> None:
    """List the rows of a running gateway, and how the accounts behind its connections answer.

    Example: tollhouse registry list
    """
    with _asking(to) as (control, stub):
        rows = _listed(control, stub)
    if json:
        print_json({"rows": [_row(row) for row in rows]})
        return
    made = table("row", "version", "changed", "by", "account")
    for row in rows:
        label = shown(f"{_NAMES[row.kind]}/{row.name}", style="cyan")
        changed = shown(row.updated_at.ToJsonString()[:19] + "Z")
        made.add_row(label, str(row.version), changed, shown(row.updated_by), _health(row))
    terminal().print(made if rows else "The registry is empty; fill it by `tollhouse registry apply`.")


def _problems(settings: Settings, paths: list[Path]) -> tuple[Problem, ...]:
    from gateway.app import install_adapters, load_rows  # noqa: PLC0415 - every adapter, and other commands need none

    there = settings.model_copy(update={"registry": RegistrySettings(paths=tuple(paths))})
    return load_rows(there, install_adapters(there, SystemClock())).problems


def _print(problems: tuple[Problem, ...], errors: list[Problem]) -> None:
    for problem in problems:
        if problem.is_warning:
            terminal().print(Text("warning", style="yellow"), shown(problem), soft_wrap=True)
    if errors:
        complain("the registry cannot be used; correct what is listed", map(str, errors))
    else:
        terminal().print(Text("ok", style="green"), "every row can be used")


@contextmanager
def _asking(to: Where) -> Iterator[tuple[Control, Any]]:
    with controlling(to, RegistryServiceStub, timeout_seconds=SECONDS) as asking:
        yield asking


def _listed(control: Control, stub: Any) -> list[Any]:
    """Every row."""
    found: list[Any] = []
    token = ""
    while True:
        page = control.ask(stub.ListRows, pb.ListRowsRequest(page_token=token))
        found += page.rows
        token = page.next_page_token
        if not token:
            return sorted(found, key=lambda row: (list(LISTS).index(_NAMES[row.kind]), row.name))


def _present(control: Control, stub: Any) -> dict[Key, Present]:
    return {
        (_NAMES[row.kind], row.name): Present(version=row.version, value=_value(row)) for row in _listed(control, stub)
    }


def _value(row: Any) -> dict[str, Any]:
    value = json_module.loads(row.document_json)
    if not isinstance(value, dict):
        raise StartError(f"the gateway's row {row.name} is no JSON object; is it newer than this command?")
    return value


def _apply(control: Control, stub: Any, planned: list[Planned], *, validate_only: bool) -> list[dict[str, str]]:
    """What is wrong; nothing was changed then."""
    changes = [
        pb.RowChange(
            kind=_KINDS[one.kind],
            name=one.name,
            document_json=b"" if one.after is None else json_module.dumps(one.after).encode(),
            expected_version=one.version,
        )
        for one in planned
    ]
    response = control.ask(stub.ApplyRows, pb.ApplyRowsRequest(changes=changes, validate_only=validate_only))
    return [
        {"row": problem.row, "path": problem.path, "rule": problem.rule, "message": problem.message}
        for problem in response.problems
    ]


def _sentence(problem: dict[str, str]) -> str:
    place = f"{problem['row']}{problem['path']}: " if problem["row"] else ""
    return f"{place}{problem['rule']}: {problem['message']}"


def _told(planned: list[Planned]) -> list[dict[str, Any]]:
    return [{"action": one.action, "kind": one.kind, "name": one.name, "version": one.version} for one in planned]


def _print_plan(planned: list[Planned]) -> None:
    if not planned:
        terminal().print("The registry is as the manifests have it.")
        return
    made = table("change", "row", "version")
    for one in planned:
        version = f"{one.version} → {one.version + 1}" if one.after is not None else str(one.version)
        made.add_row(shown(one.action, style=_STYLES[one.action]), shown(f"{one.kind}/{one.name}"), version)
    terminal().print(made)


def _print_manifest(text: str) -> None:
    """As it is for a file or a pipe; for a terminal so that nothing in it can act."""
    if sys.stdout.isatty():
        terminal().print(shown(text, lines=True), soft_wrap=True)
    else:
        sys.stdout.write(text)


def _print_difference(planned: Planned) -> None:
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in difference(planned).splitlines():
        terminal().print(shown(line, style=styles.get(line[:1], "")), soft_wrap=True)


def _row(row: Any) -> dict[str, Any]:
    value = {
        "kind": _NAMES[row.kind],
        "name": row.name,
        "version": row.version,
        "document": _value(row),
        "updated_by": row.updated_by,
        "updated_at": row.updated_at.ToJsonString(),
    }
    if not row.HasField("health"):
        return value
    health = row.health
    return value | {
        "health": {
            "last_success_at": health.last_success_at.ToJsonString() if health.HasField("last_success_at") else None,
            "last_error_at": health.last_error_at.ToJsonString() if health.HasField("last_error_at") else None,
            "last_error": health.last_error,
            "needs_authorisation": health.needs_authorisation,
        }
    }


def _health(row: Any) -> Text:
    """How the account behind a connection answers, in a few words."""
    health = row.health
    if not row.HasField("health") or not (health.HasField("last_success_at") or health.last_error):
        return shown("")
    if health.needs_authorisation:
        return shown("needs re-authorisation", style="bold red")
    if health.last_error and health.last_error_at.ToNanoseconds() > health.last_success_at.ToNanoseconds():
        return shown(f"{health.last_error} at {health.last_error_at.ToJsonString()[:19]}Z", style="yellow")
    return shown(f"answered at {health.last_success_at.ToJsonString()[:19]}Z", style="green")
