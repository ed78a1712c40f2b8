"""The wire contract and the code say the same, and an incompatible change is noticed."""

import re
import shutil
import subprocess
import sys
from enum import Enum
from pathlib import Path

import pytest

from gateway.approvals.base import ApprovalState
from gateway.call import DecisionEffect, PendingState
from gateway.errors import CODE_OF, Code, Reason
from gateway.v1 import approval_service_pb2, codes_pb2
from gateway.v1 import tool_service_pb2 as pb

PROTO = Path(__file__).parent.parent.parent / "proto"
FILES = sorted((PROTO / "gateway" / "v1").glob("*.proto"))
BUF = Path(sys.executable).parent / "buf"


def _names(enum: object, prefix: str) -> set[str]:
    """The names of an enum without its prefix and without the value that stands for nothing."""
    return {name.removeprefix(prefix) for name in enum.keys()} - {"UNSPECIFIED"}  # type: ignore[attr-defined]  # noqa: SIM118


def test_the_reasons_are_the_protos() -> None:
    """Name by name, and each has a code."""
    assert _names(codes_pb2.Reason, "REASON_") == {reason.name for reason in Reason} == {one.name for one in CODE_OF}


def test_the_codes_are_the_protos() -> None:
    """Name by name."""
    assert _names(codes_pb2.Code, "CODE_") == {code.name for code in Code}


@pytest.mark.parametrize("enum", [Reason, Code])
def test_a_value_is_its_name_in_small_letters(enum: type[Reason] | type[Code]) -> None:
    """What is in the audit is what is on the wire."""
    assert all(one.value == one.name.lower() for one in enum)


@pytest.mark.parametrize(
    ("of_proto", "prefix", "of_code"),
    [
        (pb.Effect, "EFFECT_", DecisionEffect),
        (pb.PendingState, "PENDING_STATE_", PendingState),
        (approval_service_pb2.ApprovalState, "APPROVAL_STATE_", ApprovalState),
    ],
)
def test_what_the_code_can_say_the_protos_can(of_proto: object, prefix: str, of_code: type[Enum]) -> None:
    """Name by name, and nothing else."""
    assert _names(of_proto, prefix) == {one.name for one in of_code}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_service_and_rpc_says_what_it_is_for(file: Path) -> None:
    """Each has a comment: the contract is read by people."""
    text = file.read_text("utf-8")
    for match in re.finditer(r"^( *)(?:rpc|service) \w+", text, re.MULTILINE):
        before = text[: match.start()].rstrip().splitlines()[-1].strip()
        assert before.startswith("//"), match.group()


def _breaking(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BUF), "breaking", "--against", str(PROTO / "released.binpb")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A copy of the contract, to be changed."""
    return Path(shutil.copytree(PROTO, tmp_path / "proto"))


def test_the_contract_as_it_is_breaks_nobody(changed: Path) -> None:
    """Against what was released."""
    done = _breaking(changed)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"  string idempotency_key = 3;\n", ""),
        (r"  string run_id = 4;", "  uint64 run_id = 4;"),
        (r"  string step_id = 5;", "  string step_id = 15;"),
        (r"  rpc ListTools\(.*\n", ""),
    ],
    ids=["field removed", "type changed", "number changed", "rpc removed"],
)
def test_a_change_that_breaks_a_client_is_noticed(changed: Path, old: str, new: str) -> None:
    """Removed, of another type, of another number: each fails the check."""
    file = changed / "gateway" / "v1" / "tool_service.proto"
    text, count = re.subn(old, new, file.read_text("utf-8"), count=1)
    assert count == 1
    file.write_text(text, "utf-8")
    done = _breaking(changed)
    assert done.returncode != 0
    assert "tool_service.proto" in done.stdout + done.stderr
