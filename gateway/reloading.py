"""Settings and registry that change while the gateway runs: noticed, and swapped whole or not at all."""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path

from adapters.base import Clock
from gateway.background import end
from gateway.settings.load import Settings

LIVE = {
    "known_scopes": None,
    "registry": frozenset({"paths", "reload_seconds"}),
    "credentials": None,
    "arguments": None,
    "limits": frozenset({"caller", "tenant", "agent", "max_in_flight", "when_down"}),
    "server": frozenset({"max_call_seconds", "drain_seconds", "drain_delay_seconds"}),
}
"""What a running gateway takes over: whole parts, or these keys of one. All else needs a restart."""

RETRY_SECONDS = 60.0
"""How often what was refused is tried again: it can come right elsewhere, in a policy or in Vault."""

Stamp = frozenset[tuple[str, int, int, int]]


def need_restart(old: Settings, new: Settings) -> tuple[str, ...]:
    """The settings that differ and that a running gateway does not take over, as `part` or `part.key`."""
    changed = []
    for part in Settings.model_fields:
        before, after = getattr(old, part), getattr(new, part)
        if before == after or (part in LIVE and LIVE[part] is None):
            continue
        live = LIVE.get(part)
        if live is None:
            changed.append(part)
        else:
            changed += [f"{part}.{key}" for key, value in before if key not in live and value != getattr(after, key)]
    return tuple(changed)


def stamp(paths: Iterable[Path]) -> Stamp:
    """Name, time, size and inode of every file in these files and folders: it differs when one was written,
    added or removed. Symbolic links are followed, since a mounted ConfigMap is swapped by one. What cannot be
    looked at, or is gone before it was, counts as absent: nobody is there to hear of it.
    """
    found = set()
    for path in paths:
        for file in _with_content(path):
            with contextlib.suppress(OSError):
                status = os.stat(file)  # noqa: PTH116 - a path may be a text
                found.add((str(file), status.st_mtime_ns, status.st_size, status.st_ino))
    return frozenset(found)


def _with_content(path: Path) -> Iterator[str | Path]:
    """The path and what is below it. `os.walk` passes over a folder that cannot be read, or is removed meanwhile."""
    yield path
    for parent, folders, names in os.walk(path):
        yield from (os.path.join(parent, name) for name in (*folders, *names))  # noqa: PTH118 - there may be many


class Watcher:
    """Has something read again when files change, or when it is asked to."""

    def __init__(
        self,
        paths: Callable[[], Iterable[Path]],
        reload: Callable[[], Awaitable[tuple[str, ...]]],
        *,
        clock: Clock,
        seconds: Callable[[], float],
    ) -> None:
        """`paths` says what to look at, and `seconds` how often; with 0 only `poke` has it read. `reload` tells what
        spoke against taking it over, and may not raise.
        """
        self._paths = paths
        self._reload = reload
        self._clock = clock
        self._seconds = seconds
        self._retry_at = float("inf")
        self._asked = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Look from now on: what changes after this is noticed."""
        self._watching = asyncio.create_task(self._watch(stamp(self._paths())), name="settings watcher")

    def poke(self) -> None:
        """Have it read now, or as soon as it is started, whether anything changed or not."""
        self._asked.set()

    async def stop(self) -> None:
        """Look no longer."""
        watching, self._watching = self._watching, None
        await end(watching)

    async def _watch(self, seen: Stamp) -> None:
        while True:
            is_asked = await self._woken()
            now = await asyncio.to_thread(stamp, self._paths())
            if is_asked or now != seen or self._clock.monotonic() >= self._retry_at:
                seen = now
                is_refused = bool(await self._reload())
                self._retry_at = self._clock.monotonic() + RETRY_SECONDS if is_refused else float("inf")

    async def _woken(self) -> bool:
        """Return when it is time to look; True when somebody asked."""
        waits: list[asyncio.Future[object]] = [asyncio.ensure_future(self._asked.wait())]
        if (seconds := self._seconds()) > 0:
            waits.append(asyncio.ensure_future(self._clock.sleep(seconds)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        is_asked = self._asked.is_set()
        self._asked.clear()
        return is_asked
