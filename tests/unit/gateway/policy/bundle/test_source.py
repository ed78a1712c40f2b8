"""Bundles as a source: what comes out was signed and is not older, and the same is not given out twice."""

from pathlib import Path

import pytest
from fakes.bundles import BundleService, Keys, bundle_service, changed, signed_bundle, with_claims, write_keys
from fakes.clock import START, FakeClock
from fakes.packs import ALLOW_ALL, DENY_ALL
from fakes.trials import try_here

from gateway.policy.base import PolicyUnusable
from gateway.policy.bundle.floor import FileFloor
from gateway.policy.bundle.source import BundleSource
from gateway.policy.pack import read_pack
from gateway.policy.reload import ReloadingEngine
from gateway.policy.source import Candidate
from gateway.settings.policy import BundleSettings

DAY = 86400.0


class Shelf:
    """A folder with keys, a bundle file and everything that a source needs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys = write_keys(folder / "keys")
        self.file = folder / "bundle.tar.gz"
        self.clock = FakeClock()
        self.floor = FileFloor(folder / "state" / "floor")
        self.unpacked = folder / "state" / "policy"

    def bundle(self, text: str = ALLOW_ALL, *, days: int = 0, keys: Keys | None = None) -> bytes:
        """A good bundle, built so many days after the start."""
        return signed_bundle(self.folder / "made", keys or self.keys, text, built_at=START + days * DAY)[0]

    def source(self, service: BundleService | None = None, **more: object) -> BundleSource:
        """From the service, or from the file."""
        where = {"url": service.url} if service is not None else {"file": self.file}
        settings = BundleSettings.model_validate({**where, "key_file": self.keys.public_file, **more})
        return BundleSource(settings, self.unpacked, clock=self.clock, floor=self.floor)

    def folders(self) -> list[str]:
        """What is unpacked."""
        return sorted(path.name for path in self.unpacked.iterdir())


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """Everything but a bundle."""
    return Shelf(tmp_path)


async def _rule(source: BundleSource) -> str:
    with pytest.raises(PolicyUnusable) as caught:
        await source.look()
    return caught.value.problems[0].rule


async def _found(source: BundleSource) -> Candidate:
    candidate = await source.look()
    assert candidate is not None
    return candidate


async def test_a_file_is_unpacked_and_given_out_once(shelf: Shelf) -> None:
    """Under the manifest's revision, in a folder that holds the policy and nothing else."""
    shelf.file.write_bytes(shelf.bundle())
    source = shelf.source()
    candidate = await _found(source)
    assert candidate.revision.startswith("20260101T000000Z-")
    assert read_pack(candidate.folders).modules[0].text.endswith(ALLOW_ALL)
    assert await source.look() is None
    assert (source.is_remote, source.max_age_seconds) == (False, 3600.0)


async def test_what_decided_before_is_removed(shelf: Shelf) -> None:
    """When the next one was accepted, and not before; what is not ours stays."""
    shelf.file.write_bytes(shelf.bundle())
    source = shelf.source()
    first = await _found(source)
    await source.accept(first)
    (shelf.unpacked / "other").mkdir()
    shelf.file.write_bytes(shelf.bundle(DENY_ALL, days=1))
    second = await _found(source)
    assert len(shelf.folders()) == 3
    await source.accept(second)
    assert shelf.folders() == sorted([second.folders[0].name, "other"])


async def test_what_an_earlier_process_left_is_removed(shelf: Shelf) -> None:
    """Also what it had not finished."""
    shelf.unpacked.mkdir(parents=True)
    (shelf.unpacked / ("0" * 64)).mkdir()
    (shelf.unpacked / ("1" * 64 + ".new")).mkdir()
    shelf.file.write_bytes(shelf.bundle())
    candidate = await _found(shelf.source())
    assert shelf.folders() == [candidate.folders[0].name]


async def test_an_older_bundle_is_refused_over_restarts(shelf: Shelf) -> None:
    """Once a newer one was accepted; the newer one itself is taken by the next process."""
    old, new = shelf.bundle(), shelf.bundle(DENY_ALL, days=1)
    shelf.file.write_bytes(new)
    source = shelf.source()
    await source.accept(await _found(source))
    shelf.file.write_bytes(old)
    assert await _rule(source) == "older"
    again = shelf.source()
    assert await _rule(again) == "older"
    shelf.file.write_bytes(new)
    assert await again.look() is not None


async def test_what_was_refused_is_judged_again(shelf: Shelf) -> None:
    """Nothing new need be published when the floor was mended, or the time has come."""
    shelf.floor.raise_to("20270101T000000Z-0123456789ab")
    shelf.file.write_bytes(shelf.bundle())
    source = shelf.source()
    assert await _rule(source) == "older"
    (shelf.folder / "state" / "floor").unlink()
    assert await source.look() is not None
    shelf.file.write_bytes(with_claims(shelf.bundle(days=1), shelf.keys, nbf=START + 10))
    assert await _rule(source) == "signature"
    shelf.clock.advance(10)
    assert await source.look() is not None


async def test_another_key_asks_for_another_signature(shelf: Shelf) -> None:
    """What the former key vouched for is refused from then on."""
    shelf.file.write_bytes(shelf.bundle())
    source = shelf.source()
    await _found(source)
    other = write_keys(shelf.folder / "other")
    shelf.keys.public_file.write_bytes(other.public_file.read_bytes())
    assert await _rule(source) == "signature"
    shelf.file.write_bytes(shelf.bundle(days=1, keys=other))
    assert await source.look() is not None
    shelf.keys.public_file.write_text("no key")
    assert await _rule(source) == "key"
    shelf.keys.public_file.unlink()
    assert await _rule(source) == "key"


async def test_a_file_that_is_not_there_is_a_problem(shelf: Shelf) -> None:
    """At every look, until it is."""
    source = shelf.source()
    assert await _rule(source) == "file"
    assert await _rule(source) == "file"
    shelf.file.write_bytes(shelf.bundle())
    assert await source.look() is not None


async def test_a_folder_that_cannot_be_written_is_a_problem(shelf: Shelf) -> None:
    """And is tried again when it can."""
    shelf.file.write_bytes(shelf.bundle())
    shelf.unpacked.parent.mkdir()
    shelf.unpacked.write_text("in the way")
    source = shelf.source()
    assert await _rule(source) == "disk"
    shelf.unpacked.unlink()
    assert await source.look() is not None


async def test_a_floor_that_cannot_be_raised_keeps_a_policy_out(shelf: Shelf) -> None:
    """It comes again until it can."""
    shelf.file.write_bytes(shelf.bundle())
    source = shelf.source()
    candidate = await _found(source)
    (shelf.folder / "state" / "floor.new").mkdir()
    with pytest.raises(PolicyUnusable, match="cannot be written"):
        await source.accept(candidate)
    assert await source.look() == candidate


async def test_a_service_is_asked_for_what_changed(shelf: Shelf) -> None:
    """By ETag; tampered bundles are refused for as long as they are given out, and the good one is good again."""
    good = shelf.bundle()
    async with bundle_service(good) as service:
        source = shelf.source(service)
        await source.accept(await _found(source))
        assert await source.look() is None
        service.body = changed(good, {"policy.rego": b"package gateway.authz\n"})
        assert [await _rule(source), await _rule(source)] == ["signature", "signature"]
        service.body = good
        assert await source.look() is not None
        assert await source.look() is None
        assert service.answered == [200, 304, 200, 304, 200, 304]
        source.forget()
        assert await source.look() is not None
        await source.close()


async def test_a_service_that_does_not_answer_is_unreachable(shelf: Shelf) -> None:
    """Nobody refused anything, and nothing of it is forgotten."""
    async with bundle_service(shelf.bundle()) as service:
        source = shelf.source(service, max_age_seconds=5)
        assert (source.is_remote, source.max_age_seconds) == (True, 5.0)
        await _found(source)
        port, body = service.port, service.body
    assert await _rule(source) == "unreachable"
    async with bundle_service(body, port):
        assert await source.look() is None
    await source.close()


async def test_a_token_is_sent_and_may_be_missing(shelf: Shelf) -> None:
    """It is read from a file; without it the service is not asked."""
    token_file = shelf.folder / "token"
    async with bundle_service(shelf.bundle()) as service:
        service.token = "hunter2"
        source = shelf.source(service, token_file=token_file)
        assert await _rule(source) == "unreachable"
        assert service.answered == []
        token_file.write_text("hunter2\n")
        shelf.clock.advance(1)
        assert await source.look() is not None
        await source.close()


async def test_an_answer_that_is_no_bundle_is_refused(shelf: Shelf) -> None:
    """A login page, say."""
    async with bundle_service(b"<html>") as service:
        source = shelf.source(service)
        assert await _rule(source) == "archive"
        await source.close()


async def test_an_engine_on_a_file_starts_or_says_why(shelf: Shelf) -> None:
    """A file is here or never; a broken change of it keeps the former policy, also a refused one at the next start."""
    engine = ReloadingEngine(shelf.source(), clock=shelf.clock, try_out=try_here, reload_seconds=2)
    with pytest.raises(PolicyUnusable, match="cannot be read: No such file"):
        await engine.start()
    shelf.file.write_bytes(shelf.bundle(days=1))
    await engine.start()
    revision = engine.revision
    assert (engine.status().is_ready, revision[:9]) == (True, "20260102T")
    shelf.file.write_bytes(shelf.bundle(DENY_ALL))
    assert not await engine.reload_now()
    assert (engine.revision, engine.status().is_ready, engine.problems[0].rule) == (revision, True, "older")
    await engine.stop()
    again = ReloadingEngine(shelf.source(), clock=shelf.clock, try_out=try_here, reload_seconds=2)
    with pytest.raises(PolicyUnusable, match="is not newer than 20260102T"):
        await again.start()
    await again.stop()
