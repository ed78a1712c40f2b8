"""What a scene left behind is gathered whole, and a secret in any file is found."""

from pathlib import Path

import pytest

from gateway.audit.signing import make_key
from gateway.cli.demo.gathering import Left, Sought, gathered, written_in
from gateway.cli.demo.project import Project, prepare_folders
from gateway.cli.demo.record import Record
from gateway.cli.demo.scene import Seen
from gateway.cli.demo.search import Hit, forms


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Empty folders."""
    made = Project(root=tmp_path, socket=tmp_path / "s")
    prepare_folders(made)
    made.audit.mkdir()
    return made


def _left(project: Project, *secrets: tuple[str, bytes]) -> Left:
    project.audit_key.unlink(missing_ok=True)
    return Left(
        project=project,
        says=(("a", "do it"),),
        mailbox=(),
        key=make_key(project.audit_key, "test", bytes(32)),
        sought=[Sought(forms=forms(secret), kept=kept) for secret, kept in secrets],
        engine="embedded",
    )


def _record(left: Left, written: dict[str, bytes], seen: Seen | None = None) -> Record:
    seen = seen or Seen()
    seen.gateway_exits = [0]
    return Record(**gathered(left, seen, written))


def test_every_secret_is_looked_for_in_every_file(project: Project) -> None:
    """In what is there now, and in what was there while the gateway ran."""
    places = ("state/journal.log", "logs/openbao.log", "secrets/secret-id", "tollhouse.yaml")
    for place in places:
        (project.root / place).write_text("x pass-word y")
    seen = Seen()
    seen.written = {"state/gone": b"y other-word"}
    left = _left(project, ("pass-word", b"pass-word"), ("other-word", b"other-word"))
    record = _record(left, written_in(project), seen)
    assert {hit.place for hit in record.secret_hits} == {*places, "state/gone"}
    assert Hit(place="state/gone", encoding="plain") in record.secret_hits
    assert {*places, "state/gone"} <= record.searched


def test_a_search_that_does_not_find_what_is_there_counts_for_nothing(project: Project) -> None:
    """Each secret must be found where it is kept."""
    assert _record(_left(project, ("a-secret", b"a-secret"), ("b-secret", b"b-secret")), {}).control_hits > 0
    assert _record(_left(project, ("a-secret", b"a-secret"), ("b-secret", b"nothing")), {}).control_hits == 0


def test_an_audit_without_a_line_proves_nothing(project: Project) -> None:
    """It verifies, and is none."""
    record = _record(_left(project), {})
    assert (record.chain_verified, record.lines, record.done_before) == (False, (), -1)
    assert record.control_mode == 0o700
    assert record.says == (("a", "do it"),)


def test_a_secret_does_not_show() -> None:
    """Not even in a repr."""
    assert "pass-word" not in repr(Sought(forms=forms("pass-word"), kept=b"pass-word"))
