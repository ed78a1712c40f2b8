"""What follows the audit's files: outlets that lines are handed on to, and who signs how far they have come."""

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from adapters.base import Clock
from gateway.audit import anchors
from gateway.audit.checkpointing import Checkpointer, FileKeeper, Keeper
from gateway.audit.files import Directory
from gateway.audit.lines import LineSink
from gateway.audit.open import audit_directory
from gateway.audit.outlets.base import Outlet
from gateway.audit.outlets.following import Follower, Followers, OnEvent, Pacing, SinkStatus
from gateway.audit.outlets.otlp import OtlpOutlet
from gateway.audit.outlets.position import PositionFile
from gateway.audit.outlets.postgresql import PostgresqlOutlet
from gateway.audit.outlets.stdout import StdoutOutlet
from gateway.audit.signing import Signer, parsed_keys
from gateway.audit.store_keeper import StoreKeeper
from gateway.clients.http import HttpClient
from gateway.errors import StartError
from gateway.settings.audit import JsonlSink, OtlpSink, PostgresqlSink, SinkSettings, StdoutSink
from gateway.settings.load import Settings
from gateway.store.database import Database
from gateway.watched import WatchedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Auditing:
    """Outlets and checkpoints of one gateway. Start it behind the sink, and stop it before that one."""

    followers: Followers
    checkpointer: Checkpointer | None

    def sinks(self) -> tuple[SinkStatus, ...]:
        """How each outlet stands."""
        return self.followers.status()


async def start_auditing(  # noqa: PLR0913 - what it stands between
    stack: contextlib.AsyncExitStack,
    settings: Settings,
    *,
    sink: LineSink,
    database: Database,
    signer: Signer | None,
    clock: Clock,
    on_event: OnEvent,
) -> Auditing:
    """The lines are handed on, and signed for, until the stack is closed. Raises `StartError`."""
    directory = audit_directory(settings.state_dir)
    files = Directory(directory)
    stack.callback(files.close)
    followers = Followers(
        [
            Follower(
                outlet,
                files,
                head=lambda: sink.head[0],
                position=PositionFile(directory / f"{outlet.name}.position"),
                clock=clock,
                pacing=pacing,
                on_event=on_event,
            )
            for outlet, pacing in _outlets(settings.audit.sinks, clock, database)
        ]
    )
    stack.push_async_callback(followers.stop)
    sink.hand_on(followers.tell)
    followers.start()
    checkpointer = await _checkpointer(settings, sink, database, signer, clock, on_event)
    if checkpointer is not None:
        stack.push_async_callback(checkpointer.stop)
        checkpointer.start()
    return Auditing(followers=followers, checkpointer=checkpointer)


def _outlets(sinks: Iterable[SinkSettings], clock: Clock, store: Database) -> list[tuple[Outlet, Pacing]]:
    made: list[tuple[Outlet, Pacing]] = []
    for sink in sinks:
        match sink:
            case JsonlSink():
                continue
            case StdoutSink():
                made.append((StdoutOutlet(), Pacing()))
            case OtlpSink():
                made.append((_otlp(sink, clock.monotonic), Pacing(timeout_seconds=sink.timeout_ms / 1000)))
            case PostgresqlSink():
                made.append((_postgresql(sink, clock, store), Pacing(timeout_seconds=sink.timeout_ms / 1000)))
    return made


def _otlp(sink: OtlpSink, monotonic: Callable[[], float]) -> Outlet:
    token = WatchedFile(sink.token_file, monotonic, is_private=True) if sink.token_file else None
    client = HttpClient(
        ca_file=sink.ca_file, token=token.text if token else (lambda: ""), timeout_seconds=sink.timeout_ms / 1000
    )
    return OtlpOutlet(client, sink.url)


def _postgresql(sink: PostgresqlSink, clock: Clock, store: Database) -> Outlet:
    if sink.database is not None:
        return PostgresqlOutlet(Database(sink.database, clock), is_own=True)
    if store.settings.is_sqlite:
        raise StartError("the audit sink postgresql needs a database of PostgreSQL; name one, or make the store one")
    return PostgresqlOutlet(store)


async def _checkpointer(
    settings: Settings, sink: LineSink, database: Database, signer: Signer | None, clock: Clock, on_event: OnEvent
) -> Checkpointer | None:
    """None when nobody signs."""
    wanted = settings.audit.checkpoints
    if wanted is None or signer is None:
        return None
    await signer.start()
    paths: list[Path] = [audit_directory(settings.state_dir) / anchors.FILE_NAME]
    if wanted.copy_to is not None:
        paths.append(wanted.copy_to)
    files = FileKeeper(signer, paths, clock)
    files.check()
    keepers: list[Keeper] = [files, StoreKeeper(database, signer, clock, parsed_keys(wanted.trusted))]
    return Checkpointer(sink.standing, keepers, seconds=wanted.seconds, clock=clock, on_event=on_event)
