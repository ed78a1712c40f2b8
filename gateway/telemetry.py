"""The log: JSON lines on stderr that cannot hold arguments, results or secrets.

An event is a name and some fields of an allow-list; anything else is dropped and counted. Exceptions are
logged by their type and by where in our own code they came from, never by their text. What libraries
log is reduced to who said something and how serious it was: their words may hold what passed through.
"""

import logging
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, TextIO

import structlog

FIELDS: frozenset[str] = frozenset(
    {
        "address",
        "agent",
        "before",
        "bytes",
        "call_id",
        "code",
        "component",
        "connection",
        "count",
        "dropped_fields",
        "duration_ms",
        "error_place",
        "error_type",
        "fault",
        "file",
        "kind",
        "line",
        "listener",
        "path",
        "peer",
        "pid",
        "policy_revision",
        "principal",
        "problem",
        "reason",
        "revision",
        "segment",
        "service",
        "signal",
        "source",
        "state",
        "step",
        "suppressed",
        "tenant",
        "tool",
        "tools",
        "version",
        "why",
    }
)
"""Every field that an event may have."""

MAX_TEXT = 200
"""The longest text in a field, in characters."""
WINDOW_SECONDS = 10.0
LINES_PER_WINDOW = 10
"""How many lines of one event `Log.limited` writes per window."""

_EVENT = re.compile(r"[a-z][a-z0-9_]{0,63}")
_HARMFUL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_LIBRARIES = ("aiohttp", "aiosmtplib", "asyncio", "concurrent", "grpc", "py.warnings")

FieldValue = str | int | float | bool


@dataclass(slots=True)
class _Window:
    since: float
    lines: int = 0
    suppressed: int = 0


class Log:
    """Writes events. `log = Log(...)` is made once, by the composition root, and handed on."""

    def __init__(self, logger: Any, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._monotonic = monotonic
        self._windows: dict[str, _Window] = {}
        self.dropped_fields = 0
        """How many fields were left out since they are not allowed: a fault of ours, worth a look."""

    def event(self, name: str, level: str = "info", **fields: FieldValue) -> None:
        """One line. Never raises: a log that fails must not stop a call."""
        kept = {key: _safe(value) for key, value in fields.items() if key in FIELDS and _is_plain(value)}
        dropped = len(fields) - len(kept)
        if dropped:
            self.dropped_fields += dropped
            kept["dropped_fields"] = dropped
        try:
            self._logger.log(_LEVELS.get(level, 20), name if _EVENT.fullmatch(name) else "unnamed", **kept)
        except (OSError, ValueError):
            return

    def limited(self, name: str, level: str = "warning", **fields: FieldValue) -> None:
        """One line, unless this event has had its share: what strangers can cause must not fill a disk.
        The first line of the next window says how many were left out.
        """
        now = self._monotonic()
        window = self._windows.setdefault(name, _Window(now))
        if now - window.since >= WINDOW_SECONDS:
            if window.suppressed:
                fields["suppressed"] = window.suppressed
            self._windows[name] = window = _Window(now)
        window.lines += 1
        if window.lines > LINES_PER_WINDOW:
            window.suppressed += 1
            return
        self.event(name, level, **fields)

    def failure(self, name: str, error: BaseException, **fields: FieldValue) -> None:
        """One line of level error: the exception's type and our own place in its traceback."""
        place = place_of(error.__traceback__)
        self.event(name, "error", error_type=type(error).__qualname__, error_place=place, **fields)


def configure(level: str = "info", stream: TextIO | None = None, now: Callable[[], float] = time.time) -> Log:
    """The process's log on a stream (stderr when left out). Call it once, at start.

    Routes what libraries log through the standard library into the same stream, without their words.
    """

    def stamp(_logger: Any, method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
        moment = datetime.fromtimestamp(now(), UTC).isoformat(timespec="milliseconds")
        return {"time": moment, "level": method, "event": event.pop("event"), **event}

    logger = structlog.wrap_logger(
        structlog.PrintLogger(stream if stream is not None else sys.stderr),
        processors=[stamp, structlog.processors.JSONRenderer(ensure_ascii=True)],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        cache_logger_on_first_use=True,
    )
    log = Log(logger)
    _route_libraries(log)
    return log


def place_of(traceback: TracebackType | None) -> str:
    """Module and line of the innermost frame in our own code; empty when there is none."""
    place = ""
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in ("gateway", "adapters"):
            place = f"{module}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


class _Reduced(logging.Handler):
    """Turns a library's record into an event without the record's message."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self._busy = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        """Who, how serious, and the type of the exception if there is one."""
        if getattr(self._busy, "is_busy", False):
            return
        self._busy.is_busy = True
        try:
            level = "error" if record.levelno >= logging.ERROR else "warning"
            fields: dict[str, FieldValue] = {"source": record.name}
            if record.exc_info and record.exc_info[1] is not None:
                fields["error_type"] = type(record.exc_info[1]).__qualname__
                fields["error_place"] = place_of(record.exc_info[2])
            self._log.event("library_message", level, **fields)
        finally:
            self._busy.is_busy = False


def _route_libraries(log: Log) -> None:
    """The root logger has our handler alone, and the libraries' own handlers are taken away."""
    logging.captureWarnings(True)
    handler = _Reduced(log)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in _LIBRARIES:
        library = logging.getLogger(name)
        library.handlers.clear()
        library.propagate = True
        library.setLevel(logging.WARNING)
    logging.raiseExceptions = False
    logging.lastResort = None


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


def _safe(value: FieldValue) -> FieldValue:
    """Text with anything that could steer a terminal or a parser replaced, and cut; numbers as they are."""
    if isinstance(value, str):
        text = _HARMFUL.sub("\ufffd", value[: MAX_TEXT + 1])
        return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
    return value
