"""What every implementation of `Sink` does."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from fakes.audit import opened, until, written
from fakes.files import Disk
from fakes.lines import line
from fakes.sink import ListSink

from gateway.audit.base import Sink
from gateway.errors import Reason, Refusal


@dataclass
class Made:
    """A sink, the call ids it holds, and what breaks and mends it."""

    sink: Sink
    call_ids: Callable[[], list[str]]
    set_down: Callable[[bool], None]


def _fake() -> Made:
    sink = ListSink()
    return Made(sink, lambda: [item.call_id for item in sink.lines], lambda down: setattr(sink, "is_down", down))


def _on_a_disk() -> Made:
    disk = Disk()
    return Made(
        opened(disk).sink,
        lambda: [value["call_id"] for value in written(disk)],
        lambda down: setattr(disk, "room", 0 if down else None),
    )


@pytest.fixture(params=[_fake, _on_a_disk], ids=["fake", "disk"])
def made(request: pytest.FixtureRequest) -> Made:
    """The sink."""
    return request.param()


async def test_lines_are_kept_in_order(made: Made) -> None:
    """Each once."""
    for number in range(5):
        await made.sink.append(line(f"c{number}"))
    assert made.call_ids() == [f"c{number}" for number in range(5)]


async def test_many_at_once_are_all_kept(made: Made) -> None:
    """None is lost, none twice."""
    await asyncio.gather(*(made.sink.append(line(f"c{number}")) for number in range(30)))
    assert sorted(made.call_ids()) == sorted(f"c{number}" for number in range(30))


async def test_a_line_that_cannot_be_written_is_refused_and_owed(made: Made) -> None:
    """The answer must not leave; the line is written before the next one when that is possible again."""
    await made.sink.append(line("c1"))
    made.set_down(True)
    with pytest.raises(Refusal) as caught:
        await made.sink.append(line("c2"))
    assert caught.value.reason is Reason.AUDIT_UNAVAILABLE
    assert caught.value.fault is not None
    assert made.call_ids() == ["c1"]
    made.set_down(False)
    await _appended(made.sink, "c3")
    assert made.call_ids()[:2] == ["c1", "c2"]


async def _appended(sink: Sink, call_id: str) -> None:
    """Append, as soon as the sink takes lines again."""
    await until(lambda: sink.is_healthy)
    await sink.append(line(call_id))
