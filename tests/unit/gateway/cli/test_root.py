"""Whatever a command raises ends in an exit code and a sentence; nobody sees a traceback who did not ask for one."""

from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest
import typer
import typer.core

from gateway.cli import root
from gateway.errors import StartError

Told = pytest.CaptureFixture[str]


class Panic(BaseException):
    """What a Rust extension raises."""


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Makes every command line raise."""

    def install(error: BaseException) -> None:
        def command(*_arguments: object, **_options: object) -> NoReturn:
            raise error

        monkeypatch.setattr(root, "app", command)

    return install


def test_version(capsys: Told) -> None:
    """As text and as JSON."""
    assert root.run(["version"]) == 0
    assert capsys.readouterr().out.startswith("tollhouse 0.")
    assert root.run(["version", "--json"]) == 0
    assert capsys.readouterr().out.startswith('{"version": "0.')


def test_a_problem_is_a_sentence_and_a_list(capsys: Told, failing: Callable[[BaseException], None]) -> None:
    """Exit code 2, on standard error, harmless."""
    failing(StartError("cannot \x1b[2J; do that", ("a.yaml:1: x: y",)))
    assert root.run(["serve"]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "tollhouse: cannot \\x1b[2J; do that\n  a.yaml:1: x: y\n")


@pytest.mark.parametrize("error", [KeyError("s3cret"), Panic("s3cret"), RecursionError("s3cret"), OSError(5, "s3cret")])
def test_a_fault_names_its_type_and_nothing_else(
    error: BaseException, capsys: Told, failing: Callable[[BaseException], None]
) -> None:
    """The text of an exception that nobody expected may hold anything, so it is not shown."""
    failing(error)
    assert root.run(["serve"]) == 2
    told = capsys.readouterr().err
    assert f"({type(error).__name__})" in told
    assert "--debug" in told
    assert "s3cret" not in told
    assert "Traceback" not in told
    assert told.count("\n") == 1


def test_debug_shows_where(capsys: Told, failing: Callable[[BaseException], None]) -> None:
    """Asked for, the traceback comes, and harmless."""
    failing(KeyError("\x1b[2J"))
    assert root.run(["--debug", "serve"]) == 2
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert "\x1b" not in told


def test_exit_codes_pass_through(failing: Callable[[BaseException], None]) -> None:
    """Of commands, of an interrupt, and of an exit with words."""
    for error, code in ((SystemExit(1), 1), (SystemExit(0), 0), (KeyboardInterrupt(), 130), (SystemExit("x"), 1)):
        failing(error)
        assert root.run([]) == code


@pytest.mark.parametrize(
    "arguments", [["nope"], ["call"], ["policy", "eval"], ["audit", "tail", "-n", "x"], ["--nope"]]
)
def test_wrong_usage_is_two_and_no_traceback(arguments: list[str], capsys: Told) -> None:
    """With a word on what is wrong."""
    assert root.run(arguments) == 2
    told = capsys.readouterr().err
    assert "Usage:" in told
    assert "Traceback" not in told


def _commands() -> list[list[str]]:
    return list(_below(typer.main.get_group(root.app)))


def _below(group: typer.core.TyperGroup) -> Iterator[list[str]]:
    for name, command in group.commands.items():
        if isinstance(command, typer.core.TyperGroup):
            yield from ([name, *inner] for inner in _below(command))
        else:
            yield [name]


def test_the_commands_are_these() -> None:
    """The list that the README and the scripts of others rely on."""
    assert sorted(map(" ".join, _commands())) == [
        "approvals approve",
        "approvals deny",
        "approvals list",
        "approvals show",
        "approvals watch",
        "assertions key",
        "assertions make-key",
        "assertions verify",
        "audit checkpoints",
        "audit export",
        "audit key",
        "audit tail",
        "audit verify",
        "call",
        "calls artifact",
        "calls cancel",
        "calls get",
        "calls list",
        "calls resolve",
        "calls watch",
        "db check",
        "db sql",
        "db upgrade",
        "demo",
        "events watch",
        "explain",
        "init",
        "policy bundle build",
        "policy bundle keygen",
        "policy bundle verify",
        "policy check",
        "policy eval",
        "policy test",
        "registry apply",
        "registry check",
        "registry diff",
        "registry export",
        "registry import openapi",
        "registry import upstream",
        "registry list",
        "registry review",
        "seal new-key",
        "serve",
        "stop clear",
        "stop list",
        "stop set",
        "tools",
        "version",
    ]


@pytest.mark.parametrize("command", _commands(), ids=" ".join)
def test_every_command_has_a_help_with_an_example(command: list[str], capsys: Told) -> None:
    """Those that take something show how; `--help` is always 0."""
    assert root.run([*command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Usage: tollhouse" in text
    if command not in (["demo"], ["version"]):
        assert "Example: tollhouse" in " ".join(text.split())
