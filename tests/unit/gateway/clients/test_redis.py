"""The client of Redis, against a server that says what the test wants."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import redis.exceptions
from fakes.redis import Command, SpeakingServer, said_yes, speaking
from pydantic import ValidationError

from adapters.base import Fault
from gateway.clients.redis import RedisClient, RedisFailed, Script, ScriptCall, _failed
from gateway.settings.limits import RedisSettings

SCRIPT = Script("return 1")
ONE = ScriptCall(("k",), ("7",))


@asynccontextmanager
async def client(
    say: Callable[[Command], bytes | None], **more: object
) -> AsyncIterator[tuple[RedisClient, SpeakingServer]]:
    """A client of such a server."""
    async with speaking(say) as (server, path):
        one = RedisClient(RedisSettings.model_validate({"url": f"unix:{path}", "timeout_ms": 500} | more), lambda: 0.0)
        try:
            yield one, server
        finally:
            await one.close()


async def failure(say: Callable[[Command], bytes | None], **more: object) -> RedisFailed:
    """What becomes of one call."""
    async with client(say, **more) as (one, _):
        try:
            (answer,) = await one.run(SCRIPT, [ONE])
        except RedisFailed as error:
            return error
    assert isinstance(answer, RedisFailed)
    return answer


async def test_calls_go_together_and_come_back_in_order() -> None:
    """One round trip, one connection, no word about ourselves."""
    async with client(said_yes) as (one, server):
        answers = await one.run(SCRIPT, [ScriptCall(("k", "l"), (str(word), "x")) for word in range(3)])
    assert answers == [[-1, 0, b"0"], [-1, 0, b"1"], [-1, 0, b"2"]]
    assert server.connections == 1
    assert server.heard[0] == [b"EVALSHA", SCRIPT.sha1.encode(), b"2", b"k", b"l", b"0", b"x"]
    assert len(server.heard) == 3


async def test_a_lost_script_is_given_again_for_those_calls_alone() -> None:
    """What was counted already is not asked again."""

    def say(command: Command) -> bytes:
        if command[0] == b"EVALSHA" and command[4] != b"1":
            return b"-NOSCRIPT No matching script.\r\n"
        return said_yes(command)

    async with client(say) as (one, server):
        answers = await one.run(SCRIPT, [ScriptCall(("k",), (str(word),)) for word in range(3)])
    assert answers == [[-1, 0, b"0"], [-1, 0, b"1"], [-1, 0, b"2"]]
    assert [command[4] for command in server.heard if command[0] == b"EVAL"] == [b"0", b"2"]


@pytest.mark.parametrize(
    ("said", "fault", "is_of_call"),
    [
        (b"-WRONGTYPE Operation against a key\r\n", Fault.ERROR, True),
        (b"-ILLFORMED a bucket holds something else\r\n", Fault.ERROR, True),
        (b"-READONLY You can't write against a read only replica.\r\n", Fault.ERROR, False),
        (b"-OOM command not allowed\r\n", Fault.ERROR, False),
        (b"-MISCONF Redis is configured to save\r\n", Fault.ERROR, False),
        (b"-MOVED 1 127.0.0.1:1\r\n", Fault.ERROR, False),
        (b"-CLUSTERDOWN The cluster is down\r\n", Fault.ERROR, False),
        (b"-BUSY Redis is busy\r\n", Fault.ERROR, False),
        (b"-ERR anything\r\n", Fault.ERROR, False),
        (b"-NOSCRIPT even when it was sent\r\n", Fault.ERROR, False),
        (b"-LOADING Redis is loading the dataset in memory\r\n", Fault.NOT_LOADED, False),
        (b"-NOAUTH Authentication required.\r\n", Fault.REFUSED, False),
        (b"-NOPERM this user has no permissions\r\n", Fault.REFUSED, False),
        (b"HTTP/1.1 200 OK\r\n\r\n", Fault.MALFORMED, False),
        (b"*-7\r\n", Fault.MALFORMED, False),
        (b"\x00\xff\xfe", Fault.MALFORMED, False),
        (None, Fault.RESET, False),
    ],
)
async def test_each_failure_is_told_apart(said: bytes | None, fault: Fault, is_of_call: bool) -> None:
    """And nothing of what the server said is kept but a word in capitals."""
    failed = await failure(lambda _: said)
    assert (failed.fault, failed.is_of_call) == (fault, is_of_call)
    assert "key" not in str(failed)
    assert "anything" not in str(failed)


async def test_a_server_that_says_nothing_or_drips_is_late() -> None:
    """The deadline stands over the whole answer, however often a byte comes."""
    failed = await failure(lambda _: b"", timeout_ms=30)
    assert failed.fault is Fault.TIMEOUT
    async with client(said_yes, timeout_ms=60) as (one, server):
        server.drip_seconds = 0.02
        with pytest.raises(RedisFailed) as caught:
            await one.run(SCRIPT, [ONE])
        assert caught.value.fault is Fault.TIMEOUT


async def test_a_loop_that_stood_still_is_not_the_servers_fault() -> None:
    """An answer that came meanwhile is read, though its time is over."""
    async with client(said_yes, timeout_ms=80) as (one, _):
        await one.open()
        asking = asyncio.ensure_future(one.run(SCRIPT, [ONE]))
        await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        end = loop.time() + 0.12
        while loop.time() < end:
            pass
        assert await asking == [[-1, 0, b"7"]]


async def test_nobody_there_is_refused() -> None:
    """At once."""
    one = RedisClient(RedisSettings(url="unix:/nowhere/redis.sock"), lambda: 0.0)
    for ask in (one.open(), one.run(SCRIPT, [ONE])):
        with pytest.raises(RedisFailed) as caught:
            await ask
        assert caught.value.fault is Fault.REFUSED
    await one.close()


async def test_after_a_failure_and_a_cancelled_call_connections_are_new() -> None:
    """No answer to an older question can be taken for one to a newer."""
    async with client(said_yes) as (one, server):
        await one.run(SCRIPT, [ONE])
        is_asked = asyncio.Event()
        server.say = lambda _: is_asked.set() or b""
        asking = asyncio.ensure_future(one.run(SCRIPT, [ONE]))
        await is_asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        server.say = said_yes
        await one.run(SCRIPT, [ONE])
        assert server.connections == 2
        one.spoil()
        await one.run(SCRIPT, [ONE])
        assert server.connections == 3


async def test_a_connection_that_ended_while_idle_is_made_anew() -> None:
    """Nobody is told of it."""
    async with client(said_yes) as (one, server):
        await one.run(SCRIPT, [ONE])
        server.hang_up()
        await asyncio.sleep(0.01)
        assert await one.run(SCRIPT, [ONE]) == [[-1, 0, b"7"]]


async def test_the_password_is_read_at_every_connection(tmp_path: Path) -> None:
    """With the user's name before it when there is one."""
    file = tmp_path / "password"
    file.write_text("old-secret\n")

    def say(command: Command) -> bytes:
        return b"+OK\r\n" if command[0] == b"AUTH" else said_yes(command)

    async with client(say, password_file=file, username="gate") as (one, server):
        await one.run(SCRIPT, [ONE])
        file.write_text("new-secret")
        one.spoil()
        await one.run(SCRIPT, [ONE])
        seen = [command[1:] for command in server.heard if command[0] == b"AUTH"]
        assert seen[0] == [b"gate", b"old-secret"]
        assert seen[-1] == [b"gate", b"new-secret"]
        file.unlink()
        one.spoil()
        with pytest.raises(RedisFailed) as caught:
            await one.run(SCRIPT, [ONE])
        assert str(caught.value) == "the password file cannot be read"


async def test_a_wrong_password_is_refused_and_not_told(tmp_path: Path) -> None:
    """Neither in the text nor in the repr."""
    (tmp_path / "password").write_text("s3cret-value")
    failed = await failure(lambda _: b"-WRONGPASS invalid pair\r\n", password_file=tmp_path / "password")
    assert failed.fault is Fault.REFUSED
    cause: BaseException | None = failed
    while cause is not None:
        assert "s3cret" not in repr(cause)
        cause = cause.__cause__ or cause.__context__


def test_every_error_of_the_library_is_told() -> None:
    """None passes through this file unnamed."""
    kinds = [kind for kind in vars(redis.exceptions).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) > 25
    for kind in kinds:
        error = kind.__new__(kind)
        assert isinstance(_failed(error).fault, Fault)
        assert not _failed(error).is_of_call


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "redis://127.0.0.1:6379/x"},
        {"url": "redis://127.0.0.1:6379/0?socket_timeout=9"},
        {"url": "redis://10.0.0.1:6379/0"},
        {"url": "redis://user:secret@127.0.0.1/0"},
        {"url": "redis://127.0.0.1:6379/1", "cluster": True},
        {"url": "unix:/run/redis.sock", "cluster": True},
    ],
)
def test_an_address_that_cannot_be_meant_is_refused(wrong: dict[str, object]) -> None:
    """Before anything is asked there."""
    with pytest.raises(ValidationError):
        RedisSettings.model_validate(wrong)
