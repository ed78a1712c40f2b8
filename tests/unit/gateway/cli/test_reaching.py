"""Which gateway is asked: the same options everywhere, and one place that reads them."""

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gateway.cli.client import Where
from gateway.cli.reaching import at_control, at_gateway
from gateway.errors import StartError

NAMES = ["socket", "address", "token_file", "ca", "cert", "cert_key"]


def _asked(reaching: Callable[[Callable[..., None]], Callable[..., None]], *given: str) -> Where:
    """Where a command asks that was given these options."""
    found: list[Where] = []
    app = typer.Typer()

    @app.command()
    @reaching
    def ask(name: str = "x", *, to: Where, loud: bool = False) -> None:
        """Ask."""
        assert (name, loud) == ("y", True)
        found.append(to)

    done = CliRunner().invoke(app, ["--name", "y", "--loud", *given], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return found[0]


@pytest.mark.parametrize(("reaching", "name"), [(at_gateway, "gateway.sock"), (at_control, "control.sock")])
def test_without_an_option_the_usual_socket_is_asked(
    reaching: Callable[[Callable[..., None]], Callable[..., None]], name: str
) -> None:
    """Agents and people have one each."""
    assert _asked(reaching).target == f"unix:{Path('.tollhouse').absolute() / name}"


def test_an_address_takes_the_place_of_the_socket(tmp_path: Path) -> None:
    """With the token that it is shown."""
    (tmp_path / "token").write_text("abc")
    found = _asked(at_gateway, "--address", "127.0.0.1:1", "--token-file", str(tmp_path / "token"))
    assert (found.target, found.token) == ("127.0.0.1:1", "abc")


def test_what_does_not_go_together_is_a_sentence() -> None:
    """A token is for an address."""
    with pytest.raises(StartError, match="go with --address"):
        _asked(at_control, "--token-file", "x")


def test_a_command_shows_its_own_options_and_these() -> None:
    """In place of what it is handed, whatever that is called."""

    def ask(*, first: int = 1, at: Where, last: int = 2) -> None:
        """Ask."""

    assert list(inspect.signature(at_control(ask)).parameters) == ["first", *NAMES, "last"]
