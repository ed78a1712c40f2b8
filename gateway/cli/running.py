"""`serve` and `demo`: the commands that run a gateway."""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Self

import typer
import uvloop
from rich.console import Console
from rich.status import Status

from gateway.cli.terminal import shown, terminal
from gateway.settings.load import Settings, default_settings, load_settings

DEFAULT_STATE = Path(".tollhouse")
DEMO_FOLDER = Path(".run/demo")
ENDED = 143
"""The exit code after SIGTERM, as shells tell it."""
DEMO_SUMMARY = Path(".run/demo.json")


def serve(
    *,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Settings file; without one, a default that lets nobody in.")
    ] = None,
    state_dir: Annotated[
        Path | None,
        typer.Option("--state-dir", help="Where journal and audit are kept."),
    ] = None,
) -> None:
    """Run the gateway until it gets SIGTERM or Ctrl-C. The log goes to standard error, as JSON.

    One screen tells on standard output what runs; where audit lines go there it is on standard error too.

    Settings and registry are read again when they change, and at once on SIGHUP: what can be taken over is,
    as a whole; otherwise the log says why not and all goes on as before.

    Example: tollhouse serve --config my-gateway/tollhouse.yaml
    """
    from gateway import app  # noqa: PLC0415 - it loads every part, and other commands need few
    from gateway.cli.screen import print_screen  # noqa: PLC0415 - so does this

    settings = _settings(config, state_dir)
    os.environ.setdefault("RUST_BACKTRACE", "0")  # with 1, a policy's first error costs 39 ms and shows a stack
    console = _console(settings)
    uvloop.run(
        app.run(
            settings,
            lambda gateway: print_screen(console, gateway.describe(), config),
            reread=lambda: _settings(config, state_dir),
            config=config,
        )
    )


def _console(settings: Settings) -> Console:
    """Where the screen goes: standard output belongs to audit lines where they are sent there."""
    has_lines = any(sink.kind == "stdout" for sink in settings.audit.sinks)
    return terminal(sys.stderr if has_lines else sys.stdout)


def _settings(config: Path | None, state_dir: Path | None) -> Settings:
    """What the options say, now: a running gateway asks again."""
    settings = load_settings(config) if config else default_settings(state_dir or DEFAULT_STATE)
    return settings.model_copy(update={"state_dir": state_dir}) if config and state_dir else settings


def demo() -> None:
    """Show everything at work: a mail server, a web server, the gateway, an agent, a person who decides for it, and
    what they left behind.

    Where there is Node, a second scene follows: a customer is double charged, over Stripe, Linear, Slack and mail.
    Files go to .run/demo, a summary to .run/demo.json. The exit code is 0 only if everything held.
    """
    from gateway.cli.demo import run  # noqa: PLC0415 - servers, certificates: for the demo alone
    from gateway.cli.demo.telling import tell  # noqa: PLC0415 - so is this

    console, began = terminal(), time.monotonic()
    DEMO_SUMMARY.unlink(missing_ok=True)  # nobody must take an earlier run's for this one's
    try:
        with _Progress(console) as progress:
            first, second = asyncio.run(run.run_scenes(DEMO_FOLDER, progress.say))
    except asyncio.CancelledError as ended:
        raise typer.Exit(ENDED) from ended
    summary = tell(console, first, second)
    DEMO_SUMMARY.write_text(json.dumps(summary, indent=2) + "\n", "utf-8")
    _print_end(console, is_ok=summary["ok"], seconds=time.monotonic() - began)
    raise typer.Exit(0 if summary["ok"] else 1)


def _print_end(console: Console, *, is_ok: bool, seconds: float) -> None:
    words = "Everything held" if is_ok else "Not everything held: see the checks marked ✗"
    console.print(f"{words}. It took {seconds:.1f} s.", style="bold green" if is_ok else "bold red")
    console.print(f"The files are in {DEMO_FOLDER}, the summary in {DEMO_SUMMARY}.", style="dim")


class _Progress:
    """What is being done now: one moving line on a terminal, a line each elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._last = ""

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status = self._console.status("")
            self._status.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._status is not None:
            self._status.stop()

    def say(self, what: str, detail: str) -> None:
        """Show what begins now. Details are for the moving line alone."""
        if self._status is not None:
            self._status.update(shown(f"{what} … {detail}"))
        elif what != self._last:
            self._console.print(shown(f"{what} …", style="dim"))
        self._last = what
