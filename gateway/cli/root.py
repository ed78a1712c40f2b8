"""The command line as a whole: the commands, and the one place where whatever they raise becomes a sentence."""

import importlib.metadata
import traceback
from typing import Annotated

import typer

from gateway.cli import (
    approvals,
    assertions,
    audit,
    calling,
    calls,
    db,
    events,
    policy,
    registry,
    running,
    seal,
    starting,
    stop,
)
from gateway.cli.terminal import complain, print_json, terminal
from gateway.errors import StartError

OK, NOT_SO, UNUSABLE, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    name="tollhouse",
    help="A policy-as-code gateway for AI agents: every tool call stops, is checked, and is written down.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `tollhouse init my-gateway`, or see everything at work with `tollhouse demo`.",
)
app.command()(running.serve)
app.command()(starting.init)
app.command()(running.demo)
app.command()(calling.tools)
app.command()(calling.call)
app.command()(calling.explain)
app.add_typer(registry.app, name="registry")
app.add_typer(policy.app, name="policy")
app.add_typer(audit.app, name="audit")
app.add_typer(approvals.app, name="approvals")
app.add_typer(assertions.app, name="assertions")
app.add_typer(calls.app, name="calls")
app.add_typer(events.app, name="events")
app.add_typer(stop.app, name="stop")
app.add_typer(db.app, name="db")
app.add_typer(seal.app, name="seal")


@app.callback()
def root(
    *, debug: Annotated[bool, typer.Option("--debug", help="Show where a command failed, for a bug report.")] = False
) -> None:
    """A policy-as-code gateway for AI agents: every tool call stops, is checked, and is written down."""
    del debug  # `run` looks for it itself: it must work for whatever goes wrong before this


@app.command()
def version(*, json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Print the version."""
    found = importlib.metadata.version("tollhouse")
    if json:
        print_json({"version": found})
    else:
        terminal().print(f"tollhouse {found}")


def run(arguments: list[str]) -> int:
    """The exit code of one command line: 0, 1 when what was asked is not so, 2 when it cannot be done.

    Nothing but an exit code comes out of here: no traceback reaches a user who did not ask for it.
    """
    try:
        app(arguments, prog_name="tollhouse")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else NOT_SO
    except KeyboardInterrupt:
        return INTERRUPTED
    except StartError as error:
        complain(error.message, error.problems)
        return UNUSABLE
    except BaseException as error:  # noqa: BLE001 - also a panic of the policy engine
        return _failed(error, is_debug="--debug" in arguments)
    return OK


def _failed(error: BaseException, *, is_debug: bool) -> int:
    shown = traceback.format_exception(error) if is_debug else []
    advice = "" if is_debug else "; run `tollhouse --debug` with the same arguments to see where"
    complain(
        f"this is a fault of tollhouse and not of yours ({type(error).__name__}){advice}",
        (line for part in shown for line in part.rstrip("\n").split("\n")),
    )
    return UNUSABLE
