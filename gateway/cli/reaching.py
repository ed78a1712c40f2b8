"""Which gateway a command asks: six options that every client command has, written once."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from gateway.cli.client import TlsFiles, Where, where

Command = Callable[..., None]

_AGENTS = Annotated[
    Path, typer.Option("--socket", envvar="TOLLHOUSE_SOCKET", help="The gateway's Unix socket.", metavar="PATH")
]
_CONTROL = Annotated[
    Path,
    typer.Option(
        "--socket", envvar="TOLLHOUSE_CONTROL_SOCKET", help="The Unix socket of a control listener.", metavar="PATH"
    ),
]
_OTHERS: tuple[tuple[str, Any, Any], ...] = (
    ("address", Annotated[str, typer.Option("--address", help="HOST:PORT of the gateway, instead of a socket.")], ""),
    (
        "token_file",
        Annotated[Path | None, typer.Option("--token-file", help="File with the token to show at --address.")],
        None,
    ),
    (
        "ca",
        Annotated[
            Path | None,
            typer.Option("--ca", help="Certificates (PEM) that may vouch for the gateway at --address: speak TLS."),
        ],
        None,
    ),
    (
        "cert",
        Annotated[Path | None, typer.Option("--cert", help="Your own certificate chain (PEM), to show it.")],
        None,
    ),
    ("cert_key", Annotated[Path | None, typer.Option("--cert-key", help="The private key (PEM) of --cert.")], None),
)


def at_gateway(command: Command) -> Command:
    """The command with six options in place of the parameter that is a `Where`: where agents are."""
    return _reaching(command, ("socket", _AGENTS, Path(".tollhouse/gateway.sock")))


def at_control(command: Command) -> Command:
    """The same where people and trusted runtimes are."""
    return _reaching(command, ("socket", _CONTROL, Path(".tollhouse/control.sock")))


def _reaching(command: Command, socket: tuple[str, Any, Any]) -> Command:
    """Options are what a signature says: the one that is shown has them in place of the parameter."""
    signature = inspect.signature(command)
    (to,) = (name for name, parameter in signature.parameters.items() if parameter.annotation is Where)

    parameters = []
    for parameter in signature.parameters.values():
        parameters += _options(socket) if parameter.name == to else [parameter]
    shown = inspect.Signature(parameters)

    @functools.wraps(command)
    def reached(*args: Any, **options: Any) -> None:
        bound = shown.bind(*args, **options)
        bound.apply_defaults()
        given = bound.arguments
        tls = TlsFiles(ca_file=given.pop("ca"), cert_file=given.pop("cert"), cert_key_file=given.pop("cert_key"))
        named = {name: given.pop(name) for name in ("socket", "address", "token_file")}
        command(**given, **{to: where(**named, tls=tls)})

    telling: Any = reached  # a function that says of itself what `inspect`, and so typer, reads
    telling.__signature__ = shown
    telling.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return reached


def _options(socket: tuple[str, Any, Any]) -> list[inspect.Parameter]:
    kind = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(name, kind, annotation=of, default=default) for name, of, default in (socket, *_OTHERS)]
