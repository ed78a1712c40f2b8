"""`registry check`: manifests before a gateway is started on them."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from gateway.cli.terminal import complain, print_json, shown, terminal
from gateway.clock import SystemClock
from gateway.documents import Problem
from gateway.settings.load import Settings, load_settings
from gateway.settings.parts import RegistrySettings

app = typer.Typer(help="Check manifests of tools, connections and agents.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def root() -> None:
    """Check manifests of tools, connections and agents."""


@app.command()
def check(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders of manifests.")],
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
