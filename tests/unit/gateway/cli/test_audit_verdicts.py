"""What verification found, in words."""

from pathlib import Path

import pytest
import typer

from gateway.audit.verify import Bad, Verdict
from gateway.audit.verify_tenant import TenantChain, TenantVerdict
from gateway.cli.audit_verdicts import looked_at, print_tenant_verdict, print_verdict

Told = pytest.CaptureFixture[str]


def _verdict(*, covered: int = 0, bad: Bad | None = None) -> Verdict:
    return Verdict(
        ok=bad is None,
        files=1,
        lines=1,
        first_seq=1,
        writer="w1",
        head_seq=2,
        head_hash="a" * 64,
        tenants=1,
        ignored_bytes=0,
        checkpoints=1,
        covered_seq=covered,
        first_bad=bad,
    )


@pytest.mark.parametrize(
    ("covered", "words"),
    [
        (0, "Keep the head elsewhere"),
        (1, "Checkpoints reach up to line 1; what was cut off after it"),
        (2, "last line"),
    ],
)
def test_what_was_not_shown_is_said(covered: int, words: str, capsys: Told) -> None:
    """How far checkpoints reach, and what that leaves open."""
    with pytest.raises(typer.Exit) as ended:
        print_verdict(_verdict(covered=covered), Path("x"), json=False)
    assert ended.value.exit_code == 0
    assert words in capsys.readouterr().out


def test_what_is_bad_is_named_with_its_place(capsys: Told) -> None:
    """And it cannot act on a terminal."""
    with pytest.raises(typer.Exit) as ended:
        print_verdict(_verdict(bad=Bad(file="\x1b[2J", line=3, why="was changed")), Path("x"), json=False)
    assert ended.value.exit_code == 1
    out = capsys.readouterr().out
    assert "\\x1b[2J:3: was changed" in out
    assert "1 line before it is good" in out


def test_a_tenants_verdict_names_each_writer(capsys: Told) -> None:
    """With its head."""
    chain = TenantChain(writer="w1", lines=2, head_seq=2, head_hash="b" * 64, covered_seq=1)
    verdict = TenantVerdict(ok=True, tenant="acme", lines=2, chains=(chain,), checkpoints=1, first_bad=None)
    with pytest.raises(typer.Exit):
        print_tenant_verdict(verdict, json=False)
    out = capsys.readouterr().out
    assert "verified 2 lines of 1 writer" in out
    assert f"w1 head 2 {'b' * 64}" in out
    assert "Checkpoints reach up to line 1 of the tenant's" in out


def test_nothing_moves_where_there_is_no_terminal(tmp_path: Path, capsys: Told) -> None:
    """A script sees no bar."""
    (tmp_path / "a.jsonl").write_text("x" * 100)
    for path in (tmp_path, tmp_path / "a.jsonl", tmp_path / "nothing"):
        with looked_at(path, is_shown=True) as progress:
            progress(50)
    assert capsys.readouterr() == ("", "")
