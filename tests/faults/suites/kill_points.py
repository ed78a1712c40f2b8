"""The boundaries of the path at which a gateway can be made to die. Patched into a child by the suite."""

import functools
import inspect
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faults.suites.power import Power

import gateway.store.keys
from gateway.audit.files import DiskFile, MappedFile
from gateway.audit.trail import Trail
from gateway.pipeline import Pipeline

AFTER = {
    "begin": "_begin",
    "registry": "_find",
    "scopes": "_check_scopes",
    "arguments": "_read_arguments",
    "look": "_look",
    "policy": "_decide",
    "limits": "_take_limits",
    "claim": "_claim",
    "credential": "_resolve_credential",
    "answer": "_invoke",
    "result": "_shape",
    "settlement": "_settle",
    "line": "_close",
}
"""Steps of `gateway/pipeline.py`; the process dies when the step is done."""
WITHIN = {
    "journal": "the begin is about to be made durable, before the claim",
    "claiming": "the key is taken and the intent written, in a transaction that is not done",
    "asked": "the adapter is about to send",
    "acted": "the vendor has acted and its answer is not read",
    "settling": "before what happened is told to the keys",
    "closing": "before the line is handed to the audit",
    "writing": "the line is written and not on stable storage",
}
BOUNDARIES = (*AFTER, *WITHIN)
BEFORE_CLAIM = {"begin", "registry", "scopes", "arguments", "look", "policy", "limits", "journal", "claiming"}
"""At these nothing but the begin is known of the call, and a power cut may take that along."""
BEGUN = "begun"
NO_CLAIM, NO_SYNC = "no_claim", "no_sync"


class _Death:
    """Whether it is time to die: only during the call with the key that the suite chose."""

    def __init__(self) -> None:
        self.boundary = ""
        self.key = ""
        self.is_near = False
        """The call with the key is on the path."""
        self.now: set[str] = set()
        """Steps that the call is in, for what happens below them."""
        self.before: Callable[[], None] = lambda: None

    def is_of(self, trail: Trail) -> bool:
        """Whether this is the call with the key."""
        return bool(self.key) and trail.request.idempotency_key == self.key

    def at(self, boundary: str) -> None:
        """Die when this is the boundary."""
        if self.is_near and boundary == self.boundary:
            self.before()
            os.kill(os.getpid(), signal.SIGKILL)
            threading.Event().wait()


_death = _Death()
at = _death.at


def install(folder: Path, options: dict[str, Any]) -> None:
    """Die as `boundary` and `key` of the options say; keep id and key of every call that began in `begun`."""
    _death.boundary, _death.key = options.get("boundary", ""), options.get("key", "")
    if options.get("is_power_cut"):
        power = Power()
        power.install()
        _death.before = lambda: power.plan(folder)
    if options.get("mutant") == NO_SYNC:
        for kind in (DiskFile, MappedFile):
            _patch(kind, "sync", lambda _file: None)
    if options.get("mutant") == NO_CLAIM:
        _claim_nothing()
    _keep_begun(folder)
    for boundary, step in AFTER.items():
        _watch(step, boundary)
    _watch_below()


def _claim_nothing() -> None:
    """The mutant: no call claims the key that its caller gave, so that nobody remembers it."""
    claim: Any = Pipeline._claim

    async def claimed(pipeline: Pipeline, trail: Trail, *arguments: Any) -> Any:
        if trail.key:
            trail.key = f"call:{trail.call_id}"
        return await claim(pipeline, trail, *arguments)

    _patch(Pipeline, "_claim", claimed)


def _watch(step: str, boundary: str) -> None:
    """Have the step tell when it begins and when it is done."""
    known = Pipeline.__dict__[step]
    original = getattr(Pipeline, step)

    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def watched(*arguments: Any, **named: Any) -> Any:
            _enter(step, arguments)
            return _left(boundary, await original(*arguments, **named))

    else:

        @functools.wraps(original)
        def watched(*arguments: Any, **named: Any) -> Any:
            _enter(step, arguments)
            return _left(boundary, original(*arguments, **named))

    _patch(Pipeline, step, staticmethod(watched) if isinstance(known, staticmethod) else watched)


def _enter(step: str, arguments: tuple[Any, ...]) -> None:
    trail = next((one for one in arguments if isinstance(one, Trail)), None)
    if trail is not None:
        _death.is_near = _death.is_of(trail)
    if _death.is_near:
        _death.now.add(step)
        at({"_settle": "settling", "_close": "closing"}.get(step, ""))


def _left(boundary: str, done: Any) -> Any:
    if isinstance(done, Trail):  # it has just begun
        _death.is_near = _death.is_of(done)
    at(boundary)
    return done


def _watch_below() -> None:
    """What is below a step and not a step itself."""
    for kind, step, boundary in ((MappedFile, "_claim", "journal"), (DiskFile, "_close", "writing")):
        _watch_sync(kind, step, boundary)
    take = gateway.store.keys.take

    async def watched_take(*arguments: Any, **named: Any) -> Any:
        taken = await take(*arguments, **named)
        at("claiming")
        return taken

    _patch(gateway.store.keys, "take", watched_take)


def _watch_sync(kind: Any, step: str, boundary: str) -> None:
    sync = kind.sync

    def watched(file: Any) -> None:
        if step in _death.now:
            at(boundary)
        sync(file)

    _patch(kind, "sync", watched)


def _keep_begun(folder: Path) -> None:
    log = os.open(folder / BEGUN, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    begin = Pipeline._begin

    def kept(*arguments: Any, **named: Any) -> Trail:
        trail = begin(*arguments, **named)
        os.write(log, f"{trail.call_id} {trail.request.idempotency_key}\n".encode())
        return trail

    _patch(Pipeline, "_begin", kept)


def _patch(place: Any, name: str, value: Any) -> None:
    setattr(place, name, value)
