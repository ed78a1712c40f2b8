"""`audit key`, `audit export`, `audit checkpoints`, and verification with what they make."""

import asyncio
import json
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from fakes.lines import line
from real.stores import CLOCK

from gateway.audit.chain import Chains, Sealing, file_name
from gateway.audit.checkpointing import FileKeeper
from gateway.audit.lines import Standing, encode_line
from gateway.audit.signing import FileSigner
from gateway.audit.store_keeper import StoreKeeper
from gateway.cli.audit_keys import read_keys
from gateway.cli.root import run
from gateway.errors import StartError
from gateway.settings.store import StoreSettings
from gateway.store.database import Database
from gateway.store.migrating import upgrade

Told = pytest.CaptureFixture[str]


@pytest.fixture
def key_file(tmp_path: Path, capsys: Told) -> Path:
    """A key that the command made."""
    path = tmp_path / "keys" / "audit.key"
    assert run(["audit", "key", str(path), "--name", "gw1/audit"]) == 0
    (tmp_path / "audit.vkey").write_text(capsys.readouterr().out)
    return path


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    """Lines of two tenants."""
    folder = tmp_path / "audit"
    folder.mkdir()
    (folder / file_name(1)).write_bytes(_content()[0])
    return folder


def _content() -> tuple[bytes, Standing]:
    chains = Chains.begun("w1", 0)
    sealing = Sealing(chains)
    raw = [sealing.segment(None, is_abandoned=False)]
    raw += [sealing.line(encode_line(line(f"c{n}", tenant="ab"[n % 2])), "ab"[n % 2]) for n in range(6)]
    sealing.done()
    return b"".join(raw), Standing(*chains.head, dict(chains.tenants))


@pytest.fixture
def witness(tmp_path: Path, audit: Path, key_file: Path) -> Path:
    """Checkpoints beside the audit, and where they were copied to."""
    folder = tmp_path / "witness"
    folder.mkdir()

    async def keep() -> None:
        signer = FileSigner(key_file)
        await signer.start()
        await FileKeeper(signer, [audit / "checkpoints.notes", folder], FakeClock()).keep(_content()[1])

    asyncio.run(keep())
    return folder


def test_a_key_is_made_and_shown(key_file: Path, capsys: Told) -> None:
    """The private part never is."""
    assert key_file.stat().st_mode & 0o777 == 0o600
    assert run(["audit", "key", str(key_file), "--show", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["verification_key"].startswith("gw1/audit+")
    assert shown["verification_key"].split("+")[2] not in key_file.read_text()
    assert run(["audit", "key", str(key_file)]) == 2
    assert "name a file that is new" in capsys.readouterr().err


def test_an_audit_verifies_by_its_checkpoints(audit: Path, witness: Path, tmp_path: Path, capsys: Told) -> None:
    """By those beside it and by the copies; what they cover is said."""
    vkey = tmp_path / "audit.vkey"
    for more in ([], ["--checkpoints", str(witness)], ["--checkpoints", str(witness / "w1.notes")]):
        assert run(["audit", "verify", str(audit), "--key", str(vkey), *more]) == 0
        assert "A checkpoint was made of the last line" in capsys.readouterr().out
    assert run(["audit", "verify", str(audit), "--key", vkey.read_text().strip(), "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["checkpoints"], verdict["covered_seq"], verdict["tenants"]) == (1, 7, 2)


def test_a_cut_end_is_found_by_the_copies(audit: Path, witness: Path, tmp_path: Path, capsys: Told) -> None:
    """Whoever cut it took the checkpoints beside it away as well."""
    file = audit / file_name(1)
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-2]))
    vkey = str(tmp_path / "audit.vkey")
    assert run(["audit", "verify", str(audit)]) == 0
    capsys.readouterr()
    assert run(["audit", "verify", str(audit), "--key", vkey, "--checkpoints", str(witness)]) == 1
    assert f"{file_name(1)}:6: was cut off here: checkpoint 1 was made of line 7" in capsys.readouterr().out
    (audit / "checkpoints.notes").unlink()
    assert run(["audit", "verify", str(audit), "--key", vkey]) == 2
    assert "there are no checkpoints beside" in capsys.readouterr().err


def test_checkpoints_without_a_key_count_for_nothing(audit: Path, witness: Path, capsys: Told) -> None:
    """Anybody can write a note."""
    assert run(["audit", "verify", str(audit), "--checkpoints", str(witness)]) == 2
    assert "name by --key whose checkpoints count" in capsys.readouterr().err


def test_a_tenants_lines_are_handed_over_and_verify(audit: Path, witness: Path, tmp_path: Path, capsys: Told) -> None:
    """By themselves; a line that was taken out of them is found."""
    out, vkey = tmp_path / "a.jsonl", str(tmp_path / "audit.vkey")
    assert run(["audit", "export", str(audit), "--tenant", "a", "-o", str(out)]) == 0
    assert "3 lines written" in capsys.readouterr().out
    assert out.stat().st_mode & 0o777 == 0o600
    command = ["audit", "verify", str(out), "--tenant", "a", "--key", vkey, "--checkpoints", str(witness)]
    assert run(command) == 0
    assert "verified 3 lines of 1 writer" in capsys.readouterr().out
    out.write_bytes(b"".join(out.read_bytes().splitlines(keepends=True)[:-1]))
    assert run([*command, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["first_bad"]["line"] == 3
    assert run(["audit", "verify", str(audit), "--tenant", "nobody"]) == 1
    assert "no line of this tenant" in capsys.readouterr().err
    assert run(["audit", "export", str(audit), "--tenant", "a", "-o", str(out)]) == 2
    assert "name a file that is new" in capsys.readouterr().err


def test_a_tenants_checkpoints_are_written_out_of_the_store(
    tmp_path: Path, key_file: Path, audit: Path, capsys: Told
) -> None:
    """They verify what was handed over, over all replicas."""
    settings = StoreSettings(url=f"sqlite:{tmp_path / 'store.db'}")

    async def keep() -> None:
        await upgrade(settings, CLOCK)
        signer = FileSigner(key_file)
        await signer.start()
        database = Database(settings, CLOCK)
        standing = _content()[1]
        only = standing._replace(tenants={"a": standing.tenants["a"]})
        await StoreKeeper(database, signer, CLOCK).keep(only)
        await database.close()

    asyncio.run(keep())
    out, vkey = tmp_path / "a.notes", str(tmp_path / "audit.vkey")
    assert run(["audit", "checkpoints", "--url", settings.url, "--tenant", "a", "-o", str(out)]) == 0
    assert "1 checkpoint written" in capsys.readouterr().out
    command = ["audit", "verify", str(audit), "--tenant", "a", "--key", vkey, "--checkpoints", str(out)]
    assert run(command) == 0
    assert "A checkpoint was made of the last line" in capsys.readouterr().out
    assert run(["audit", "checkpoints", "--url", "nonsense", "--tenant", "a", "-o", str(out)]) == 2
    assert "cannot be used as it is named" in capsys.readouterr().err


def test_keys_are_given_as_they_are_or_in_files(tmp_path: Path, key_file: Path) -> None:
    """One a line; what is neither is told without a crash."""
    text = (tmp_path / "audit.vkey").read_text()
    (tmp_path / "two").write_text(f"{text}\n{text}")
    assert len(read_keys([text.strip(), str(tmp_path / "two")])) == 3
    for wrong in ("nonsense", str(tmp_path / "nothing"), "a+b+c"):
        with pytest.raises(StartError, match="verification key"):
            read_keys([wrong])
