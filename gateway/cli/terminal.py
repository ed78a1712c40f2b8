"""The consoles that every command prints to: no markup, no emoji codes, no guessing of colours."""

import json
import os
import sys
from collections.abc import Iterable
from typing import IO, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway.cli.harmless import harmless, harmless_json

WIDTH = 120


def terminal(file: IO[str] | None = None) -> Console:
    """A console, standard output's when no file is given. A string that it prints is printed as it is.

    What is no terminal has no width; unless COLUMNS says one it gets enough for a table.
    """
    file = file or sys.stdout
    width = None if file.isatty() or "COLUMNS" in os.environ else WIDTH
    return Console(file=file, width=width, markup=False, emoji=False, highlight=False, soft_wrap=False)


def shown(value: object, *, style: str = "", lines: bool = False) -> Text:
    """Something from outside as rich text that cannot act."""
    return Text(harmless(str(value), lines=lines), style=style)


def table(*columns: str, title: str = "") -> Table:
    """An empty table in this command's one style."""
    made = Table(title=Text(title, style="bold") if title else None, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        made.add_column(Text(column), overflow="fold")
    return made


def print_json(value: Any) -> None:
    """The value as JSON on one line of ASCII, for a script."""
    print_json_text(json.dumps(value))


def print_json_text(text: str) -> None:
    """JSON text as it is, harmless and on one line."""
    sys.stdout.write(harmless_json(text) + "\n")
    sys.stdout.flush()


def complain(message: str, problems: Iterable[str] = ()) -> None:
    """One sentence, and a line for each problem, on standard error."""
    sys.stderr.write(f"tollhouse: {harmless(message)}\n")
    for problem in problems:
        sys.stderr.write(f"  {harmless(problem)}\n")
    sys.stderr.flush()
