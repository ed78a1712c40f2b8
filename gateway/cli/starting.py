"""`init`: a project to start from, whose first call works without a network."""

import shlex
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer
from rich.text import Text

from gateway.cli.terminal import print_json, shown, terminal
from gateway.errors import StartError

FIRST_ARGUMENTS = '{"zone": "Europe/Warsaw"}'


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write it; made when it does not exist.")],
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the files that were written as JSON.")] = False,
) -> None:
    """Write a starter project: settings, one tool, one agent, one policy with its test. Nothing is overwritten.

    Example: tollhouse init my-gateway
    """
    written = write_starter(folder)
    if json:
        print_json({"files": [str(path) for path in written]})
        return
    console = terminal()
    console.print(Text("ok", style="green"), shown(f"{len(written)} files in {folder}"))
    for path in written:
        console.print(shown(f"  {path.relative_to(folder)}", style="dim"))
    console.print("\nNext, each in a shell of its own:", soft_wrap=True)
    for command in next_commands(folder):
        console.print(shown(f"  {command}", style="cyan"), soft_wrap=True)


def write_starter(folder: Path) -> list[Path]:
    """The files that were written: all of them, or none with `StartError` when one is there already."""
    wanted = {folder / relative: text for relative, text in _starter_files()}
    try:
        there = [path for path in wanted if path.exists() or path.is_symlink()]
        if there:
            message = f"{folder} already holds what would be written; choose another folder, or move these away"
            raise StartError(message, tuple(map(str, there)))
        for path, content in wanted.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:  # never over a file that came into being just now
                file.write(content)
    except OSError as error:
        raise StartError(f"{error.filename} cannot be written: {error.strerror}; choose another folder") from error
    return list(wanted)


def next_commands(folder: Path) -> tuple[str, ...]:
    """What to type next: start it, call it, test its policy."""
    place = shlex.quote(str(folder))
    return (
        f"tollhouse serve --config {place}/tollhouse.yaml",
        f"tollhouse call time_now '{FIRST_ARGUMENTS}' --socket {place}/gateway.sock",
        f"tollhouse policy test {place}/policies",
    )


def _starter_files() -> Iterator[tuple[PurePosixPath, bytes]]:
    yield from _below(files("gateway.cli") / "starter", PurePosixPath())


def _below(folder: Traversable, at: PurePosixPath) -> Iterator[tuple[PurePosixPath, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            yield from _below(entry, at / entry.name)
        else:
            yield at / entry.name, entry.read_bytes()
