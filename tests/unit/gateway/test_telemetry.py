"""The log cannot hold what it must not."""

import asyncio
import io
import json
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from fakes.clock import START, FakeClock

from gateway.telemetry import LINES_PER_WINDOW, MAX_TEXT, WINDOW_SECONDS, Log, configure, place_of


class Stream(io.StringIO):
    """What was written, as events."""

    def events(self) -> list[dict[str, Any]]:
        """Every line; each is a JSON object."""
        return [json.loads(line) for line in self.getvalue().splitlines()]


@pytest.fixture(autouse=True)
def _put_back() -> Iterator[None]:
    """Put the standard library's logging back as it was."""
    root = logging.getLogger()
    handlers, level, last = root.handlers[:], root.level, logging.lastResort
    yield
    logging.captureWarnings(False)
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.lastResort = last
    logging.raiseExceptions = True


@pytest.fixture
def stream() -> Stream:
    """Where the log goes."""
    return Stream()


@pytest.fixture
def log(stream: Stream) -> Log:
    """A log of level info at a standing time."""
    return configure("info", stream, FakeClock().now)


def test_an_event_is_one_json_line(log: Log, stream: Stream) -> None:
    """Time first, then level, name and the fields."""
    log.event("listening", listener="agent", tools=3, duration_ms=1.5)
    assert stream.getvalue() == (
        '{"time": "2026-01-01T00:00:00.000+00:00", "level": "info", "event": "listening",'
        ' "listener": "agent", "tools": 3, "duration_ms": 1.5}\n'
    )
    assert START == 1_767_225_600


def test_unknown_fields_and_other_types_are_dropped_and_counted(log: Log, stream: Stream) -> None:
    """Arguments, results and secrets have no field, and no object can smuggle them in."""
    log.event("x", arguments="secret", result="secret", tool={"a": "secret"}, agent=["secret"], count=1)  # type: ignore[arg-type]
    assert "secret" not in stream.getvalue()
    assert stream.events()[0]["dropped_fields"] == 4
    assert stream.events()[0]["count"] == 1
    assert log.dropped_fields == 4


@pytest.mark.parametrize(
    "text", ["a\nb", "a\r\nb", "\x1b[31m", "\x9b", "\u202e", "\u2028", "\ufeff", "\x7f", "\0", "\ud800"]
)
def test_nothing_in_a_field_can_steer_a_terminal_or_make_a_line(log: Log, stream: Stream, text: str) -> None:
    """It is replaced, and the line stays one line."""
    log.event("x", tool=text)
    assert len(stream.getvalue().splitlines()) == 1
    assert not any(character in stream.events()[0]["tool"] for character in text if not character.isprintable())


def test_texts_are_cut(log: Log, stream: Stream) -> None:
    """At 200 characters."""
    log.event("x", tool="y" * 5000, agent="z" * MAX_TEXT)
    assert len(stream.events()[0]["tool"]) == MAX_TEXT
    assert stream.events()[0]["tool"].endswith("…")
    assert stream.events()[0]["agent"] == "z" * MAX_TEXT


def test_a_name_that_is_no_name_is_not_written(log: Log, stream: Stream) -> None:
    """It could hold anything."""
    log.event("token is s3cr3t")
    assert stream.events()[0]["event"] == "unnamed"


def test_events_below_the_level_are_left_out(stream: Stream) -> None:
    """Of four levels."""
    log = configure("warning", stream)
    for level in ("debug", "info", "warning", "error"):
        log.event("x", level)
    assert [event["level"] for event in stream.events()] == ["warning", "error"]


def test_a_failure_has_a_type_and_a_place_and_no_text(log: Log, stream: Stream) -> None:
    """The place is the innermost one in our own code."""
    try:
        configure("no such level s3cr3t")
    except KeyError as error:
        log.failure("start_failed", error, component="log")
    event = stream.events()[0]
    assert (event["error_type"], event["level"], event["component"]) == ("KeyError", "error", "log")
    assert event["error_place"].startswith("gateway.telemetry:")
    assert "s3cr3t" not in stream.getvalue()


def fail() -> None:
    """Raise something that holds a secret."""
    raise ValueError("s3cr3t")


def test_a_place_outside_our_code_is_not_told() -> None:
    """It says nothing of use, and its path may."""
    with pytest.raises(ValueError, match="s3cr3t") as caught:
        fail()
    assert place_of(caught.tb) == ""


@pytest.mark.parametrize("name", ["aiohttp.access", "grpc", "aiosmtplib", "asyncio", "some.library"])
def test_libraries_are_heard_without_their_words(log: Log, stream: Stream, name: str) -> None:
    """Who and how serious; warnings and worse only."""
    logging.getLogger(name).info("hello")
    logging.getLogger(name).warning("password %s", "s3cr3t")
    try:
        fail()
    except ValueError:
        logging.getLogger(name).exception("s3cr3t", extra={"secret": "s3cr3t"})
    assert "s3cr3t" not in stream.getvalue()
    assert [(event["level"], event["source"]) for event in stream.events()] == [("warning", name), ("error", name)]
    assert stream.events()[1]["error_type"] == "ValueError"


async def test_asyncios_complaint_about_a_lost_exception_has_no_text(log: Log, stream: Stream) -> None:
    """It would print the exception and the task's locals."""
    context = {"message": "s3cr3t", "exception": ValueError("s3cr3t")}
    asyncio.get_running_loop().default_exception_handler(context)
    assert "s3cr3t" not in stream.getvalue()
    assert stream.events()[0]["error_type"] == "ValueError"


def test_warnings_are_reduced_too(log: Log, stream: Stream) -> None:
    """They come by way of the standard library's logger."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("s3cr3t", stacklevel=1)
    assert "s3cr3t" not in stream.getvalue()


def test_strangers_cannot_fill_the_disk() -> None:
    """A window has its share of lines, and the next one says how many were left out."""
    clock, stream = FakeClock(), Stream()
    configured = configure("info", stream)
    log = Log(configured._logger, clock.monotonic)
    for _ in range(LINES_PER_WINDOW + 5):
        log.limited("unauthenticated", why="no token")
    log.limited("overloaded")
    assert len(stream.events()) == LINES_PER_WINDOW + 1
    clock.advance(WINDOW_SECONDS)
    log.limited("unauthenticated", why="no token")
    log.limited("unauthenticated", why="no token")
    assert [event.get("suppressed") for event in stream.events()[-2:]] == [5, None]


def test_a_stream_that_fails_stops_nothing() -> None:
    """A call must not fail since its log line cannot be written."""
    stream = Stream()
    log = configure("info", stream)
    stream.close()
    log.event("x")
