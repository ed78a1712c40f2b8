"""`stop` stops and lets go on, and lists what is stopped."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from fakes.administration import Replica, replica, served
from fakes.clock import FakeClock
from real.stores import opened, sqlite_settings

from gateway.cli import stop
from gateway.errors import StartError

Told = pytest.CaptureFixture[str]
Run = Callable[..., "asyncio.Future[None]"]


@pytest.fixture
async def one(tmp_path: Path) -> AsyncIterator[Replica]:
    """A gateway that serves the registry."""
    clock = FakeClock()
    async with opened(await sqlite_settings(tmp_path), clock) as database:
        made = replica(database, clock)
        async with served(made, f"unix:{tmp_path / 's'}"):
            yield made


@pytest.fixture
def ask(one: Replica, tmp_path: Path) -> Run:
    """Runs the command beside the gateway."""

    def run(*words: str) -> "asyncio.Future[None]":
        arguments = [*words, "--socket", str(tmp_path / "s")]
        return asyncio.ensure_future(asyncio.to_thread(stop.app, arguments, standalone_mode=False))

    return run


async def test_something_is_stopped_listed_and_cleared(ask: Run, capsys: Told) -> None:
    """For a person."""
    await ask("list")
    assert "Nothing is stopped" in capsys.readouterr().out
    await ask("set", "tool", "send", "--reason", "a leak")
    assert "tool send is stopped" in capsys.readouterr().out
    await ask("set", "tenant", "--reason", "all of it")
    await ask("list")
    told = capsys.readouterr().out
    assert "tool send" in told
    assert "a leak" in told
    assert "all of the tenant" in told
    assert "ann" in told
    await ask("clear", "tool", "send", "--reason", "over")
    assert "no longer" in capsys.readouterr().out


async def test_a_script_gets_json(ask: Run, capsys: Told) -> None:
    """Of every command."""
    await ask("set", "vendor", "email", "--reason", "a leak", "--json")
    stopped = json.loads(capsys.readouterr().out)["stop"]
    assert (stopped["scope"], stopped["name"], stopped["reason"], stopped["set_by"]) == (
        "vendor",
        "email",
        "a leak",
        "ann",
    )
    await ask("list", "--json")
    assert json.loads(capsys.readouterr().out) == {"stops": [stopped]}
    await ask("clear", "vendor", "email", "--reason", "over", "--json")
    assert json.loads(capsys.readouterr().out) == {"cleared": {"scope": "vendor", "name": "email"}}


@pytest.mark.parametrize(
    "words",
    [
        ("set", "tool", "--reason", "x"),
        ("set", "tenant", "acme", "--reason", "x"),
        ("set", "tool", "send", "--reason", " "),
        ("clear", "tool", "nothing", "--reason", "x"),
    ],
)
async def test_what_cannot_be_done_is_told(ask: Run, words: tuple[str, ...]) -> None:
    """In one sentence."""
    with pytest.raises(StartError):
        await ask(*words)
