"""`policy check`, `test` and `eval`: what is wrong is listed and is 1, and a decision is JSON."""

import io
import json
import sys
from pathlib import Path

import pytest
from fakes.packs import ENDLESS, write_pack

from gateway.cli.root import run

Told = pytest.CaptureFixture[str]

ALLOW = """package gateway.authz

decision := {"effect": "allow", "reasons": [], "obligations": []} if {
	input.tool.name == "echo"
}
"""
TEST = """package gateway.authz_test

test_echo if {
	data.gateway.authz.decision.effect == "allow" with input as {"tool": {"name": "echo"}}
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A policy with a test that passes."""
    folder = tmp_path / "policy"
    folder.mkdir()
    (folder / "p.rego").write_text(ALLOW)
    (folder / "p_test.rego").write_text(TEST)
    return folder


def test_a_good_policy_is_zero_and_has_a_revision(folder: Path, capsys: Told) -> None:
    """As text and as JSON."""
    assert run(["policy", "check", str(folder)]) == 0
    told = capsys.readouterr().out
    assert "ok embedded engine: 1 modules, revision sha256:" in told
    assert "ok opa: check --strict and fmt find nothing wrong" in told
    assert run(["policy", "check", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["problems"], found["opa"]["problems"]) == (True, [], [])


def test_a_policy_that_allows_a_call_of_nobody_is_a_warning(folder: Path, capsys: Told) -> None:
    """It is no mistake: the exit code stays 0. The built-in pack and one that asks for something have none."""
    assert run(["policy", "check", "--no-opa"]) == 0
    assert run(["policy", "check", "--no-opa", str(folder)]) == 0
    assert "warning" not in capsys.readouterr().out
    (folder / "p.rego").write_text(ALLOW.partition(" if {")[0] + "\n")
    assert run(["policy", "check", str(folder)]) == 0
    told = capsys.readouterr().out
    assert "warning the policy allows a call of nobody" in told
    assert "behind OPA the gateway would not use it" in told
    assert run(["policy", "check", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["problems"], len(found["warnings"])) == (True, [], 1)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "nonsense"])
def test_what_is_no_json_is_no_input(folder: Path, capsys: Told, text: str) -> None:
    """It is not the policy that failed."""
    (folder.parent / "call.json").write_text(text)
    assert run(["policy", "eval", str(folder), "--input", str(folder.parent / "call.json")]) == 2
    assert "call.json is not JSON; an input document is" in capsys.readouterr().err


def test_everything_that_is_wrong_is_listed(folder: Path, capsys: Told) -> None:
    """File and rule of each; exit code 1."""
    (folder / "bad.rego").write_text("package gateway.authz\n\nx := http.send({})\ny := nonsense.call(1)\n")
    assert run(["policy", "check", str(folder)]) == 1
    told = capsys.readouterr()
    assert "correct what is listed" in told.err
    assert "forbidden_call" in told.err
    assert "unknown_call" in told.err
    assert "  embedded engine: " in told.err
    assert "  opa: " in told.err
    assert run(["policy", "check", str(folder), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {problem["rule"] for problem in found["problems"]} == {"forbidden_call", "unknown_call"}


def test_what_only_opa_finds_is_one_and_named(folder: Path, capsys: Told) -> None:
    """An import that nobody uses, and a file that is not formatted, are nothing to the embedded engine."""
    (folder / "p.rego").write_text(ALLOW.replace("authz\n", "authz\n\nimport data.unused\n", 1))
    assert run(["policy", "check", str(folder)]) == 1
    told = capsys.readouterr()
    assert "ok embedded engine: " in told.out
    assert f"opa: {folder}/p.rego:3: rego_compile_error: import data.unused unused" in told.err
    (folder / "p.rego").write_text(ALLOW.replace("\t", "  "))
    assert run(["policy", "check", str(folder), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["problems"]) == (False, [])
    assert [problem["rule"] for problem in found["opa"]["problems"]] == ["format"]


@pytest.mark.parametrize("command", ["check", "test"])
def test_without_opa_it_is_said(
    command: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    """Nobody is to think that two engines looked; it is no error."""
    assert run(["policy", command, "--no-opa", str(folder)]) == 0
    assert "opa was not asked: the embedded engine alone was asked" in capsys.readouterr().out
    monkeypatch.setattr("gateway.cli.policy.find_opa", lambda: None)
    assert run(["policy", command, str(folder)]) == 0
    assert "opa was not found; put it on PATH, or name it with --opa" in capsys.readouterr().out
    assert run(["policy", command, str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["opa"] is None


@pytest.mark.parametrize("command", ["check", "test"])
def test_an_opa_that_does_not_run_is_one(command: str, folder: Path, tmp_path: Path, capsys: Told) -> None:
    """Who names one wants it asked."""
    assert run(["policy", command, "--opa", str(tmp_path / "none"), str(folder)]) == 1
    assert "cannot be run" in capsys.readouterr().err
    assert run(["policy", command, "--opa", str(tmp_path / "none"), str(folder), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["opa"]["problems"][0]["rule"]) == (False, "opa")
    assert run(["policy", command, "--opa", "x", "--no-opa", str(folder)]) == 2
    assert "exclude each other" in capsys.readouterr().err


def test_tests_of_which_the_engines_say_different_things_are_listed(folder: Path, capsys: Told) -> None:
    """What passes here and fails there is 1: the policy would decide otherwise in production."""
    differing = 'test_missing if {\n\tnot startswith(data.nowhere.word, "a")\n}\n'
    (folder / "p_test.rego").write_text(f"{TEST}\n{differing}")
    assert run(["policy", "test", str(folder)]) == 1
    told = capsys.readouterr().out
    assert f"differs {folder}/p_test.rego: test_missing: embedded engine: passed, opa: failed" in told
    assert run(["policy", "test", str(folder), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in found["differences"]] == ["test_missing"]
    assert [(each["name"], each["is_passed"]) for each in found["opa"]["results"]] == [
        ("test_echo", True),
        ("test_missing", False),
    ]


def test_a_policy_that_never_ends_is_one(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told) -> None:
    """The command ends all the same, and says what is wrong."""
    monkeypatch.setattr("gateway.policy.candidate.TRIAL_SECONDS", 2.0)
    write_pack(folder, ENDLESS)
    (folder / "p.rego").unlink()
    assert run(["policy", "check", str(folder)]) == 1
    assert "too_slow: it did not end within 2 s" in capsys.readouterr().err


def test_without_a_folder_it_is_the_built_in_pack(capsys: Told) -> None:
    """Which loads."""
    assert run(["policy", "check"]) == 0
    assert "revision sha256:" in capsys.readouterr().out


def test_tests_that_pass_are_zero(folder: Path, capsys: Told) -> None:
    """And their number is told, by both engines."""
    assert run(["policy", "test", str(folder)]) == 0
    told = capsys.readouterr().out
    assert "ok embedded engine: 1 passed, 0 failed" in told
    assert "ok opa: 1 passed, 0 failed" in told


def test_a_test_that_fails_is_one_and_named(folder: Path, capsys: Told) -> None:
    """With its file and name."""
    (folder / "p_test.rego").write_text(TEST.replace('"allow"', '"deny"'))
    assert run(["policy", "test", str(folder)]) == 1
    shown = capsys.readouterr().out
    assert "test_echo" in shown
    assert "0 passed, 1 failed" in shown
    assert run(["policy", "test", str(folder), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False


def test_no_tests_are_not_a_success(folder: Path, capsys: Told) -> None:
    """CI must not be green because nothing was tested."""
    (folder / "p_test.rego").unlink()
    assert run(["policy", "test", str(folder)]) == 1
    assert "there is no test" in capsys.readouterr().err


def test_a_decision_is_json(folder: Path, tmp_path: Path, capsys: Told) -> None:
    """With effect, reasons, obligations and the revision that made it."""
    document = tmp_path / "input.json"
    document.write_text('{"tool": {"name": "echo"}}')
    assert run(["policy", "eval", str(folder), "--input", str(document)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["effect"] == "allow"
    assert found["revision"].startswith("sha256:")


def test_no_decision_is_a_denial_and_one(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told) -> None:
    """Undefined is no; the document may come from standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"tool": {"name": "other"}}')))
    assert run(["policy", "eval", str(folder), "--input", "-"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["effect"], found["reason"]) == ("deny", "policy_undefined")


@pytest.mark.parametrize("raw", [b"\xff", None])
def test_a_document_that_cannot_be_read_is_two(raw: bytes | None, folder: Path, tmp_path: Path, capsys: Told) -> None:
    """A sentence, and no decision."""
    document = tmp_path / "document"
    if raw is not None:
        document.write_bytes(raw)
    assert run(["policy", "eval", str(folder), "--input", str(document)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("tollhouse: ")


def test_a_document_without_end_is_not_read_to_it(folder: Path, capsys: Told) -> None:
    """A device has no size that tells."""
    assert run(["policy", "eval", str(folder), "--input", "/dev/zero"]) == 2
    assert "is larger than" in capsys.readouterr().err
