"""`seal new-key`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli.seal import app
from gateway.errors import StartError
from gateway.sealing.key_lines import keys_in


def run(*arguments: str) -> str:
    """What it prints."""
    done = CliRunner().invoke(app, arguments, catch_exceptions=True)
    if isinstance(done.exception, StartError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def test_it_makes_a_file_then_adds_keys(tmp_path: Path) -> None:
    """And prints none of them."""
    path = tmp_path / "seal.key"
    said = run("new-key", str(path)) + run("new-key", str(path)) + run("new-key", str(path), "--last")
    keys = keys_in(path.read_bytes())
    assert len(keys) == 3
    assert "keep a copy" in said
    assert "seals from now on" in said
    assert "opens from now on" in said
    assert not any(line in said for line in path.read_text().split())


def test_a_file_of_something_else_is_said_to_be_that(tmp_path: Path) -> None:
    """And stays as it is."""
    path = tmp_path / "notes"
    path.write_text("notes")
    with pytest.raises(StartError, match="something else"):
        run("new-key", str(path))
