"""Lines are handed on to what the settings name, and signed for where somebody signs."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fakes.audit import until
from fakes.clock import FakeClock
from fakes.lines import line
from fakes.signing import FakeSigner

from gateway.audit.anchors import FILE_NAME
from gateway.audit.notes import notes_in
from gateway.audit.open import Audit, audit_directory, open_audit
from gateway.auditing import Auditing, start_auditing
from gateway.errors import StartError
from gateway.settings.load import Settings
from gateway.settings.store import StoreSettings
from gateway.store.database import Database

JSONL = {"kind": "jsonl"}


@contextlib.asynccontextmanager
async def audited(
    tmp_path: Path, *sinks: dict[str, Any], signer: FakeSigner | None = None, **audit: Any
) -> AsyncIterator[tuple[Audit, Auditing]]:
    """An audit over a real directory, and what follows it."""
    clock = FakeClock()
    settings = Settings.model_validate({"state_dir": tmp_path / "state", "audit": {"sinks": [JSONL, *sinks], **audit}})
    async with contextlib.AsyncExitStack() as stack:
        made = open_audit(settings.state_dir, settings.audit, clock, lambda: 1)
        stack.push_async_callback(made.close)
        database = Database(StoreSettings(url=f"sqlite:{tmp_path / 'store.db'}"), clock)
        stack.push_async_callback(database.close)
        yield (
            made,
            await start_auditing(
                stack,
                settings,
                sink=made.sink,
                database=database,
                signer=signer,
                clock=clock,
                on_event=lambda _name, _fields: None,
            ),
        )


async def test_without_further_sinks_lines_are_in_the_files_alone(tmp_path: Path) -> None:
    """Nobody follows, nobody signs; lines are written as ever."""
    async with audited(tmp_path) as (audit, auditing):
        assert (auditing.sinks(), auditing.checkpointer) == ((), None)
        await audit.sink.append(line("c1"))


async def test_every_sink_of_the_settings_is_followed_up(tmp_path: Path) -> None:
    """By its kind's name."""
    collector = {"kind": "otlp", "url": "http://127.0.0.1:9/v1/logs", "timeout_ms": 50}
    async with audited(tmp_path, {"kind": "stdout"}, collector) as (_, auditing):
        assert [status.name for status in auditing.sinks()] == ["stdout", "otlp"]


async def test_a_line_is_handed_on_once_it_is_durable(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """To standard output here, as it is in the file."""
    async with audited(tmp_path, {"kind": "stdout"}) as (audit, auditing):
        await audit.sink.append(line("call-to-follow"))
        await until(lambda: auditing.sinks()[0].behind == 0)
    assert "call-to-follow" in capfd.readouterr().out


async def test_lines_in_a_database_need_one_that_replicas_share(tmp_path: Path) -> None:
    """A file is not that: one sentence says what to do, and everything is let go of."""
    with pytest.raises(StartError, match="needs a database of PostgreSQL"):
        async with audited(tmp_path, {"kind": "postgresql"}):
            pass
    async with audited(tmp_path) as (audit, _):
        assert audit.cut_off == ()


async def test_whoever_signs_does_so_in_a_file_beside_the_lines_and_in_a_copy(tmp_path: Path) -> None:
    """At a clean stop at the latest, when anything was written."""
    copy, wanted = tmp_path / "copy.notes", {"key_file": str(tmp_path / "unused"), "seconds": 86_400}
    async with audited(tmp_path, signer=FakeSigner(), checkpoints={**wanted, "copy_to": str(copy)}) as (
        audit,
        auditing,
    ):
        assert auditing.checkpointer is not None
        await audit.sink.append(line("c1"))
    for file in (audit_directory(tmp_path / "state") / FILE_NAME, copy):
        assert notes_in(file.read_text())


async def test_without_a_signer_nothing_is_signed(tmp_path: Path) -> None:
    """Though the settings say how often."""
    wanted = {"key_file": str(tmp_path / "unused")}
    async with audited(tmp_path, checkpoints=wanted) as (_, auditing):
        assert auditing.checkpointer is None
