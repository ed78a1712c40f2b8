"""`seal new-key`: the keys that seal what is kept and may be private."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.terminal import terminal
from gateway.sealing.new_keys import add_key, create_key_file

app = typer.Typer(
    help="Keys that seal results, parked calls and previews.", no_args_is_help=True, rich_markup_mode=None
)

File = Annotated[Path, typer.Argument(help="The key file, as in the settings' sealing.key_file.")]
Last = Annotated[bool, typer.Option("--last", help="Let the new key open, and the first one seal as before.")]


@app.callback()
def group() -> None:
    """Keys that seal results, parked calls and previews."""


@app.command("new-key")
def new_key(file: File, *, last: Last = False) -> None:
    """Make a key file, or put one more key into it: the new one seals from now on, and the others still open.

    Where several gateways share the file's content, add the key with --last everywhere, then move its line to the
    top: none may seal with a key that another does not have yet. A running gateway reads the file again by itself.

    Example: tollhouse seal new-key .tollhouse/seal.key
    """
    if create_key_file(file):
        terminal().print(f"{file} holds a new key; keep a copy: without it nothing that it sealed can be opened")
        return
    add_key(file, is_first=not last)
    terminal().print(f"{file} holds one more key, which {'opens' if last else 'seals'} from now on")
