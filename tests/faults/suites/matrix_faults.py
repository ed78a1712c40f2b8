"""What is patched into a gateway of the matrix: a journal that can be broken, and the guards that a mutant lacks."""

import contextlib
import contextvars
import errno
import functools
import inspect
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faults.suites import matrix_cells as cells

import gateway.claims
import gateway.invocation
import gateway.pipeline
from gateway.audit.commit import Pace
from gateway.audit.files import MappedFile
from gateway.audit.journal import FileJournal
from gateway.call import Decision, DecisionEffect
from gateway.errors import Refusal
from gateway.idempotency.store import TenantKeys
from gateway.pipeline import Pipeline
from gateway.policy.opa import OpaEngine
from gateway.ratelimit.limits import Limits
from gateway.registry.follower import RegistryFollower

WAY = "journal.way"
"""While a file of this name is in the child's folder, the journal's disk is broken in the way that it names."""
PATIENCE_SECONDS, SLOW_SECONDS = 0.8, 1.5
"""How long a caller waits for the journal, and how long a slow disk takes."""
_ERRORS = {cells.REFUSE: errno.ENOSPC, cells.ERROR: errno.EIO}
_ALLOWED = Decision(effect=DecisionEffect.ALLOW, reasons=(), obligations=(), revision="")


def install(folder: Path, part: str, *, is_open: bool) -> None:
    """Let the journal be broken; take the part's guard away when the gateway is to fail open."""
    if part == cells.JOURNAL:
        _break_journal(folder / WAY)
    if is_open:
        _OPEN[part]()


def _break_journal(switch: Path) -> None:
    defaults: Any = Pace.__init__
    defaults.__kwdefaults__["timeout_seconds"] = PATIENCE_SECONDS
    sync = MappedFile.sync

    def synced(file: MappedFile) -> None:
        way = ""
        with contextlib.suppress(FileNotFoundError):
            way = switch.read_text()
        if way in _ERRORS:
            raise OSError(_ERRORS[way], "no sync")
        if way == cells.SLOW:
            _wait(SLOW_SECONDS)
        while way == cells.HANG and switch.exists():
            _wait(0.01)
        sync(file)

    _patch(MappedFile, "sync", synced)


def _wait(seconds: float) -> None:
    """In the writer's thread."""
    threading.Event().wait(seconds)


def _swallow(kind: Any, name: str, instead: Any = None) -> None:
    """Whatever the method refuses is let pass."""
    refusing = getattr(kind, name)

    if inspect.iscoroutinefunction(refusing):

        @functools.wraps(refusing)
        async def passing(*arguments: Any, **named: Any) -> Any:
            try:
                return await refusing(*arguments, **named)
            except Refusal:
                return instead

    else:

        @functools.wraps(refusing)
        def passing(*arguments: Any, **named: Any) -> Any:
            try:
                return refusing(*arguments, **named)
            except Refusal:
                return instead

    _patch(kind, name, passing)


def _without_policy() -> None:
    _swallow(OpaEngine, "decide", _ALLOWED)


def _without_registry() -> None:
    """Its store is gone as a whole, so that the keys would stop the call as well."""
    _swallow(RegistryFollower, "check")
    _swallow(TenantKeys, "look")
    _without_database()


def _without_database() -> None:
    """What was not claimed is not covered by a lease either, which a send looks for once more."""
    _swallow(TenantKeys, "claim")
    _patch(TenantKeys, "holds", lambda *_: True)


def _without_vault() -> None:
    _swallow(Pipeline, "_lend")


def _without_approvals() -> None:
    """What cannot be parked goes on as if nobody had to be asked."""
    park, must_wait = Pipeline._park, gateway.claims.must_wait
    is_open = contextvars.ContextVar("is_open", default=False)

    async def parked(pipeline: Pipeline, trail: Any, *arguments: Any) -> Any:
        try:
            return await park(pipeline, trail, *arguments)
        except Refusal:
            is_open.set(True)
            return await pipeline._path(trail)

    _patch(Pipeline, "_park", parked)
    _patch(gateway.pipeline, "must_wait", lambda *asked: not is_open.get() and must_wait(*asked))


def _without_doubt() -> None:
    """What the vendor may have done is told as what certainly was not."""
    failed, stopped = gateway.invocation._failed, gateway.invocation._stopped
    _patch(gateway.invocation, "_failed", lambda error, **_: failed(error, has_effect=False))
    _patch(gateway.invocation, "_stopped", lambda *asked, **_: stopped(*asked, has_effect=False))


_OPEN: dict[str, Callable[[], None]] = {
    cells.POLICY: _without_policy,
    cells.REGISTRY: _without_registry,
    cells.LIMITER: functools.partial(_swallow, Limits, "take"),
    cells.VAULT: _without_vault,
    cells.JOURNAL: functools.partial(_swallow, FileJournal, "sync"),
    cells.DATABASE: _without_database,
    cells.ADAPTER: _without_doubt,
    cells.APPROVALS: _without_approvals,
}


def _patch(place: Any, name: str, value: Any) -> None:
    setattr(place, name, value)
