"""Folders as a source of policy."""

from pathlib import Path

from fakes.packs import ALLOW_ALL, DENY_ALL, write_pack

from gateway.policy.source import Candidate, FolderSource


async def test_folders_are_given_out_when_they_changed(tmp_path: Path) -> None:
    """Once, then after each change, and after they were forgotten."""
    source = FolderSource([write_pack(tmp_path, ALLOW_ALL)])
    first = await source.look()
    assert first is not None
    assert (first.folders, first.revision) == ((tmp_path,), "")
    assert await source.look() is None
    write_pack(tmp_path, DENY_ALL)
    second = await source.look()
    assert second is not None
    assert second.mark != first.mark
    source.forget()
    assert await source.look() == second


async def test_folders_are_there_or_never_and_do_not_age(tmp_path: Path) -> None:
    """Nothing is waited for, and whoever writes them decides."""
    source = FolderSource([tmp_path])
    assert (source.is_remote, source.max_age_seconds) == (False, float("inf"))
    await source.accept(Candidate(folders=(tmp_path,)))
    await source.close()
