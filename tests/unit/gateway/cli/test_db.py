"""`db` prepares a database, says whether it may be used, and prints what an administrator runs."""

import json
from pathlib import Path

import pytest

from gateway.cli.db import app
from gateway.errors import StartError

Told = pytest.CaptureFixture[str]


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        app(list(arguments), prog_name="tollhouse db")
    return int(done.value.code or 0)


def test_a_new_database_is_prepared_and_may_be_used(tmp_path: Path, capsys: Told) -> None:
    """By its address."""
    url = f"sqlite:{tmp_path}/store.db"
    assert _run("check", "--url", url) == 1
    assert "there is no database" in capsys.readouterr().err
    assert _run("upgrade", "--url", url) == 0
    assert _run("check", "--url", url) == 0
    assert capsys.readouterr().out.splitlines() == ["ok the database is at revision 0004"] * 2


def test_a_settings_file_says_which_database(tmp_path: Path, capsys: Told) -> None:
    """Its `store`, and nothing else of it; a relative path counts from its folder."""
    config = tmp_path / "tollhouse.yaml"
    config.write_text("store: {url: 'sqlite:state/store.db'}\nsomething_else: 1\n")
    assert _run("upgrade", "--config", str(config), "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"ok": True, "revision": "0004"}
    assert (tmp_path / "state" / "store.db").exists()


def test_problems_are_for_a_script_too(tmp_path: Path, capsys: Told) -> None:
    """Every one, and the exit code says that there are some."""
    assert _run("check", "--url", f"sqlite:{tmp_path}/none.db", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], len(told["problems"])) == (False, 1)


def test_the_sql_is_printed_as_it_is(capsys: Told) -> None:
    """To be piped into psql."""
    assert _run("sql", "--app-role", "app") == 0
    said = capsys.readouterr().out
    assert "GRANT SELECT, INSERT ON approval_decisions TO app;\n" in said
    assert _run("sql", "--app-role", "app", "--json") == 0
    assert json.loads(capsys.readouterr().out)["sql"].strip() == said.strip()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "either --config or --url"),
        (("--url", "sqlite:x", "--config", "y"), "either --config or --url"),
        (("--url", "mysql://h/x"), "cannot be used as it is named"),
        (("--url", "postgresql://app:hunter2@h/x"), "cannot be used as it is named"),
        (("--url", "postgresql://127.0.0.1:1/x", "--user", "app"), "cannot be reached"),
        (("--config", "/nowhere/tollhouse.yaml"), "cannot be read"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(arguments: tuple[str, ...], told: str) -> None:
    """Without the password that somebody wrote into it."""
    with pytest.raises(StartError) as caught:
        app(["check", *arguments], prog_name="tollhouse db")
    assert told in caught.value.message
    assert "hunter2" not in repr((caught.value.message, caught.value.problems))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("listeners: []\n", "there is no `store`"),
        ("store: {urll: x}\n", "correct what is listed"),
        ("- 1\n", "no `store`"),
    ],
)
def test_settings_that_cannot_be_used_are_told(tmp_path: Path, text: str, told: str) -> None:
    """With the line of each problem."""
    config = tmp_path / "tollhouse.yaml"
    config.write_text(text)
    with pytest.raises(StartError, match=told):
        app(["check", "--config", str(config)], prog_name="tollhouse db")
