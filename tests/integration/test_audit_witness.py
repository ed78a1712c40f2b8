"""The audit with all that belongs to it on a real disk: lines, checkpoints, an outlet, a crash, and verification."""

import asyncio
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.lines import line
from fakes.outlet import QUICK, ListOutlet, ignored

from gateway.audit.anchors import FILE_NAME
from gateway.audit.chain import unseal
from gateway.audit.checkpointing import Checkpointer, FileKeeper
from gateway.audit.files import Directory
from gateway.audit.open import Audit, audit_directory, open_audit
from gateway.audit.outlets.following import Follower, Followers
from gateway.audit.outlets.position import PositionFile
from gateway.audit.signing import FileSigner, make_key
from gateway.cli.root import run
from gateway.clock import SystemClock
from gateway.settings.parts import AuditSettings

CLOCK = SystemClock()


@dataclass
class Running:
    """What one process holds."""

    audit: Audit
    checkpointer: Checkpointer
    followers: Followers
    files: Directory

    async def append(self, *call_ids: str) -> None:
        """Lines of two tenants."""
        for number, call_id in enumerate(call_ids):
            await self.audit.sink.append(line(call_id, tenant=("acme", "other")[number % 2]))

    async def stop(self) -> None:
        """As a gateway ends."""
        await self.checkpointer.stop()
        await self.followers.stop()
        await self.audit.close()
        self.files.close()


async def _started(folder: Path, outlet: ListOutlet) -> Running:
    settings = AuditSettings(segment_bytes=64 * 1024)
    audit = open_audit(folder / "state", settings, CLOCK, lambda: 1)
    directory = audit_directory(folder / "state")
    signer = FileSigner(folder / "audit.key")
    await signer.start()
    keeper = FileKeeper(signer, [directory / FILE_NAME, folder / "witness"], CLOCK)
    checkpointer = Checkpointer(audit.sink.standing, [keeper], seconds=3600, clock=CLOCK, on_event=ignored)
    files = Directory(directory)
    follower = Follower(
        outlet,
        files,
        head=lambda: audit.sink.head[0],
        position=PositionFile(directory / "list.position"),
        clock=CLOCK,
        pacing=QUICK,
        on_event=ignored,
    )
    followers = Followers([follower])
    audit.sink.hand_on(followers.tell)
    followers.start()
    checkpointer.start()
    return Running(audit, checkpointer, followers, files)


async def test_what_was_signed_elsewhere_shows_what_was_cut_off_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over a clean stop and a restart; the outlet has every line, and the copies show a cut that the audit hides."""
    key = make_key(tmp_path / "audit.key", "gw1/audit", os.urandom(32))
    (tmp_path / "witness").mkdir()
    outlet = ListOutlet(takes_all=True)
    for process in range(2):
        running = await _started(tmp_path, outlet)
        await running.append(*(f"p{process}-{number}" for number in range(200)))
        await running.stop()
    ids = [unseal(one.raw)[0]["call_id"] for one in outlet.lines]
    assert ids == [f"p{process}-{number}" for process in range(2) for number in range(200)]
    directory = audit_directory(tmp_path / "state")
    command = ["audit", "verify", str(directory), "--key", str(key), "--checkpoints", str(tmp_path / "witness")]
    assert await asyncio.to_thread(run, [*command, "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["lines"], verdict["tenants"], verdict["checkpoints"]) == (400, 2, 2)
    assert verdict["covered_seq"] == verdict["head_seq"]
    await asyncio.to_thread(_cut, directory)
    assert await asyncio.to_thread(run, ["audit", "verify", str(directory)]) == 0, "the chain alone does not show it"
    capsys.readouterr()
    assert await asyncio.to_thread(run, command) == 1
    assert "was cut off here: checkpoint 2 was made of line" in capsys.readouterr().out


def _cut(directory: Path) -> None:
    """Take the last file away, and half of the one before, and the checkpoints beside them."""
    names = sorted(path.name for path in directory.glob("*.jsonl"))
    assert len(names) > 2
    (directory / names[-1]).unlink()
    lines = (directory / names[-2]).read_bytes().splitlines(keepends=True)
    (directory / names[-2]).write_bytes(b"".join(lines[: len(lines) // 2]))
    (directory / FILE_NAME).unlink()


async def test_a_crash_between_two_checkpoints_loses_neither(tmp_path: Path) -> None:
    """What was written since the last one is in the next, after the restart."""
    make_key(tmp_path / "audit.key", "gw1/audit", os.urandom(32))
    (tmp_path / "witness").mkdir()
    first, second = ListOutlet(takes_all=True), ListOutlet(takes_all=True)
    running = await _started(tmp_path, first)
    await running.append("c1", "c2")
    await running.checkpointer.make()
    await running.append("c3")
    # As a kill leaves it: nothing of what a stop does.
    crashed = tmp_path / "crashed"
    await asyncio.to_thread(
        shutil.copytree, tmp_path, crashed, ignore=lambda _folder, _names: ["crashed", "list.position"]
    )
    await running.stop()
    again = await _started(crashed, second)
    await again.stop()
    assert [unseal(one.raw)[0]["call_id"] for one in second.lines] == ["c1", "c2", "c3"]
    notes = await asyncio.to_thread((crashed / "state" / "audit" / FILE_NAME).read_text)
    assert [one for one in notes.splitlines() if one.startswith("number")] == ["number 1", "number 2"]
