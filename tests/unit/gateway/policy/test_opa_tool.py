"""The command `opa` on policy folders: what it says is kept, and it can neither hang nor flood anybody."""

import asyncio
import os
from pathlib import Path

import pytest
from fakes.opa_bundles import binary

from gateway.policy.opa_tool import Difference, OpaTestResult, OpaTool, OpaToolFailed, differences, find_opa
from gateway.policy.testing import TestResult

POLICY = """package gateway.authz

decision := {"effect": "allow", "reasons": [], "obligations": []} if input.tool.name == "echo"
"""
TESTS = """package gateway.authz_test

test_good if 1 == 1

test_bad if 1 == 2

todo_test_later if 1 == 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a colon in its name, as OPA likes least."""
    folder = tmp_path / "a:b c%20"
    folder.mkdir()
    (folder / "p.rego").write_text(POLICY)
    (folder / "p_test.rego").write_text(TESTS)
    (folder / "input.schema.json").write_text('{"a": 1}')
    return folder


@pytest.fixture
def tool() -> OpaTool:
    """The real one."""
    return OpaTool(Path(binary()))


def _scripted(tmp_path: Path, text: str, **limits: float) -> OpaTool:
    """A tool that is this shell script."""
    script = tmp_path / "opa"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    return OpaTool(script, **limits)  # type: ignore[arg-type]


async def test_a_good_policy_has_no_problem(folder: Path, tool: OpaTool) -> None:
    """Other files that a folder may hold are left out of it."""
    assert await tool.check([folder]) == ()


async def test_what_the_strict_check_finds_names_file_and_line(folder: Path, tool: OpaTool) -> None:
    """As the embedded engine's problems do: below the folder that was named."""
    (folder / "q.rego").write_text("package gateway.q\n\nimport data.unused\n")
    (problem,) = await tool.check([folder])
    assert (problem.file, problem.message) == (f"{folder}/q.rego:3", "import data.unused unused")


async def test_every_file_that_is_not_formatted_is_named(
    folder: Path, tool: OpaTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative folder stays relative."""
    (folder / "p.rego").write_text(POLICY + "x :=    1\n")
    monkeypatch.chdir(folder.parent)
    (folder / "q.rego").write_text("package gateway.q\n\nx :=    1\n")
    problems = await tool.check([Path(folder.name)])
    assert [(each.file, each.rule) for each in problems] == [
        (f"{folder.name}/p.rego", "format"),
        (f"{folder.name}/q.rego", "format"),
    ]


async def test_what_is_no_policy_is_a_problem(tmp_path: Path, tool: OpaTool) -> None:
    """OPA says so in words and not in JSON."""
    (problem,) = await tool.check([tmp_path / "none"])
    assert "no such file" in problem.message


async def test_tests_are_run_and_told(folder: Path, tool: OpaTool) -> None:
    """In order; what is marked to be done is not run."""
    assert await tool.test([folder]) == (
        OpaTestResult(file=f"{folder}/p_test.rego", name="test_bad", is_passed=False, error="is not true"),
        OpaTestResult(file=f"{folder}/p_test.rego", name="test_good", is_passed=True, error=""),
    )


async def test_rules_of_one_name_are_one_test(folder: Path, tool: OpaTool) -> None:
    """It passes when all of them do."""
    (folder / "p_test.rego").write_text(
        "package gateway.authz_test\n\ntest_a if true\n\ntest_a if 1 == 2\n\ntest_a if true\n"
    )
    (result,) = await tool.test([folder])
    assert (result.name, result.is_passed) == ("test_a", False)


async def test_no_tests_are_no_results(folder: Path, tool: OpaTool) -> None:
    """Whatever that means to who asks."""
    (folder / "p_test.rego").unlink()
    assert await tool.test([folder]) == ()


async def test_folders_that_do_not_load_cannot_be_tested(folder: Path, tool: OpaTool) -> None:
    """With what OPA says first."""
    (folder / "q.rego").write_text("package")
    with pytest.raises(OpaToolFailed, match=r"opa test did not run: .* see tollhouse policy check"):
        await tool.test([folder])


@pytest.mark.parametrize("said", ["nonsense", "{}", "[1]", '[{"name": "test_a"}]', '[{"name": 1, "location": 2}]'])
async def test_an_answer_of_another_form_is_told(said: str, folder: Path, tmp_path: Path) -> None:
    """No test counts as passed because of it."""
    with pytest.raises(OpaToolFailed, match="cannot be read"):
        await _scripted(tmp_path, f"echo '{said}'").test([folder])


async def test_an_error_in_a_test_is_its_failure(folder: Path, tmp_path: Path) -> None:
    """With OPA's words."""
    said = '[{"name": "test_a", "location": {"file": "/x.rego"}, "error": {"message": "boom"}}]'
    (result,) = await _scripted(tmp_path, f"echo '{said}'; exit 2").test([folder])
    assert (result.file, result.is_passed, result.error) == ("/x.rego", False, "boom")


@pytest.mark.parametrize(("code", "said"), [(1, "oh no"), (2, "oh no"), (1, "")])
async def test_a_tool_that_fails_is_told(code: int, said: str, folder: Path, tmp_path: Path) -> None:
    """A failure without results is never "no test failed"."""
    tool = _scripted(tmp_path, f"echo '{said}' >&2; exit {code}")
    with pytest.raises(OpaToolFailed, match=said or "it said nothing"):
        await tool.test([folder])


async def test_a_formatter_that_fails_is_told(folder: Path, tmp_path: Path) -> None:
    """And is not mistaken for one that is content."""
    with pytest.raises(OpaToolFailed, match="opa fmt failed: oh no"):
        await _scripted(tmp_path, '[ "$1" = check ] || { echo oh no >&2; exit 1; }').check([folder])


async def test_a_tool_that_hangs_is_ended(folder: Path, tmp_path: Path) -> None:
    """In time, and not left behind."""
    tool = _scripted(tmp_path, f"echo $$ > {tmp_path}/pid; exec sleep 60", seconds=0.3)
    with pytest.raises(OpaToolFailed, match=r"did not end within 0\.3 s"):
        await tool.check([folder])
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


async def test_what_a_tool_started_is_ended_with_it(folder: Path, tmp_path: Path) -> None:
    """An opa may be a script; whoever waits for its words does not wait for its children."""
    tool = _scripted(tmp_path, f"sleep 60 & echo $! > {tmp_path}/pid; wait", seconds=0.3)
    with pytest.raises(OpaToolFailed, match="did not end"):
        await asyncio.wait_for(tool.check([folder]), 5)
    assert not _is_alive(int((tmp_path / "pid").read_text()))


def _is_alive(pid: int) -> bool:
    """Whether it runs; what has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_tool_that_says_nothing_is_told(folder: Path, tmp_path: Path) -> None:
    """With what can be done."""
    (problem,) = await _scripted(tmp_path, "exit 1").check([folder])
    assert str(problem) == "-: opa_check: opa check failed: it said nothing; name another opa, or use --no-opa"


async def test_a_tool_that_floods_is_ended(folder: Path, tmp_path: Path) -> None:
    """On either stream."""
    for stream in (1, 2):
        tool = _scripted(tmp_path, f"exec yes >&{stream}", max_output_bytes=100_000)
        with pytest.raises(OpaToolFailed, match="said more than 100000 bytes"):
            await asyncio.wait_for(tool.test([folder]), 5)


async def test_a_tool_that_is_not_there_is_told(folder: Path, tmp_path: Path) -> None:
    """A sentence and no traceback."""
    with pytest.raises(OpaToolFailed, match="cannot be run: No such file"):
        await OpaTool(tmp_path / "none").check([folder])


async def test_nothing_of_the_environment_is_handed_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secret stays here, and a flag of OPA's cannot be set from outside."""
    monkeypatch.setenv("OPA_TEST_RUN", "nothing")
    await _scripted(tmp_path, f"/usr/bin/env > {tmp_path}/env").test([folder])
    assert "OPA_" not in (tmp_path / "env").read_text()
    assert "HOME" not in (tmp_path / "env").read_text()


def test_opa_is_found_beside_python_or_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first wins."""
    monkeypatch.setattr("sys.executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert find_opa() is None
    for name in ("path", "bin"):
        (tmp_path / name).mkdir()
        found = tmp_path / name / "opa"
        found.write_text("")
        found.chmod(0o755)
        assert find_opa() == found


def _mine(name: str, *, is_passed: bool) -> TestResult:
    return TestResult(file="f", name=name, is_passed=is_passed, error="", seconds=0.0)


def _theirs(name: str, *, is_passed: bool) -> OpaTestResult:
    return OpaTestResult(file="f", name=name, is_passed=is_passed, error="")


def test_differences_are_what_one_passes_and_the_other_does_not() -> None:
    """A test that only one of them ran is one too; two failures agree."""
    mine = [_mine("a", is_passed=True), _mine("b", is_passed=True), _mine("c", is_passed=False)]
    theirs = [_theirs("a", is_passed=True), _theirs("b", is_passed=False), _theirs("c", is_passed=False)]
    assert differences(mine, [*theirs, _theirs("d", is_passed=True)]) == (
        Difference(file="f", name="b", embedded="passed", opa="failed"),
        Difference(file="f", name="d", embedded="not run", opa="passed"),
    )
    assert differences(mine[:1], ()) == (Difference(file="f", name="a", embedded="passed", opa="not run"),)
