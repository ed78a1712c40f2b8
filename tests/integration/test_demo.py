"""The real demo: everything holds, a summary says so, nothing is left running; and what does not hold is found."""

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.cli.demo import backends, run, scene
from gateway.cli.demo.backends import Backends
from gateway.cli.demo.checks import run_checks
from gateway.cli.demo.project import Project
from gateway.cli.demo.record_checks import Check
from gateway.cli.demo.refund import run as refund
from gateway.cli.demo.refund.checks import run_refund_checks
from gateway.cli.demo.refund.evidence import RefundEvidence
from gateway.cli.demo.refund.run import play_refund
from gateway.cli.demo.refund.shop import Shop
from gateway.cli.demo.servers import World

COMMAND = [sys.executable, "-P", "-m", "gateway", "demo"]
Write = Callable[[Project, World, Backends], None]
WriteRefund = Callable[[Project, World, Shop, Backends], None]


def _quiet(_what: str, _detail: str) -> None:
    """Nobody watches."""


def _running_in(folder: Path) -> list[str]:
    """The command lines of processes that name the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(folder).encode() in command:
                found.append(command.decode())
    return found


def test_everything_holds_and_the_summary_says_so(tmp_path: Path) -> None:
    """Exit code 0, a table for a person, `.run/demo.json` for a script, and no process or password left."""
    environment = os.environ | {"COLUMNS": "120"}
    done = subprocess.run(
        COMMAND, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=150
    )
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads((tmp_path / ".run" / "demo.json").read_text())
    assert summary["ok"] is True
    assert [check["claim"] for check in summary["checks"] if not check["holds"]] == []
    assert summary["calls"] == summary["lines"] == sum(summary["outcomes"].values()) == 25
    assert (summary["approvals"], summary["executions"]) == (1, 1)
    assert (summary["chain_verified"], summary["secret_hits"]) == (True, 0)
    assert (summary["policy_engine"], summary["credentials"], summary["limiter"]) == ("opa", "openbao", "valkey")
    second = summary["scene2"]
    assert [check["claim"] for check in second["checks"] if not check["holds"]] == []
    assert (second["run"], second["ok"], second["secret_hits"]) == (True, True, 0)
    assert second["calls"] == second["lines"] == sum(second["outcomes"].values()) == 9
    assert (second["approvals"], second["executions"]) == (1, 1)
    assert [second[effect] for effect in ("refunds", "issues", "messages", "mails")] == [1, 1, 1, 1]
    for words in ("What the agent did", "Who decides", "The audit", "Checks", "Scene two", "Everything held"):
        assert words in done.stdout
    assert all(len(text) <= 120 for text in done.stdout.splitlines())
    assert _running_in(tmp_path) == []
    for folder in (tmp_path / ".run" / "demo", tmp_path / ".run" / "demo" / "refund"):
        assert folder.exists()
        assert not (folder / "secrets").exists()
        assert not (folder / "gateway.sock").exists()
        assert not (folder / "people" / "control.sock").exists()


def test_without_node_the_second_scene_is_left_out_and_the_summary_says_so(tmp_path: Path) -> None:
    """The first holds all the same, and nothing else has failed."""
    environment = os.environ | {"PATH": str(tmp_path)}
    done = subprocess.run(
        COMMAND, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=150
    )
    summary = json.loads((tmp_path / ".run" / "demo.json").read_text())
    assert (done.returncode, summary["ok"]) == (0, True)
    assert summary["scene2"]["run"] is False
    assert "there is no Node 20 or newer" in summary["scene2"]["why"]
    assert "It was left out" in done.stdout


async def test_without_opa_the_embedded_engine_decides_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything holds all the same."""
    monkeypatch.setattr(run, "opa_binary", lambda: None)
    monkeypatch.setattr(backends, "opa_binary", lambda: None)
    evidence = await run.run_demo(tmp_path / "demo", _quiet)
    assert [check.claim for check in run_checks(evidence) if not check.holds] == []
    assert {line["policy_engine"] for line in evidence.lines if line.get("policy_engine")} == {"embedded"}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_an_interrupted_demo_leaves_nothing_behind(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """Neither processes nor a password nor a summary."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    async for text in process.stdout:
        if b"the agent is at work" in text:
            break
    process.send_signal(number)
    _, errors = await process.communicate()
    assert (process.returncode, errors) == (code, b"")
    assert _running_in(tmp_path) == []
    assert not (tmp_path / ".run" / "demo" / "secrets").exists()
    assert not (tmp_path / ".run" / "demo.json").exists()


async def _failed(tmp_path: Path) -> list[Check]:
    evidence = await run.run_demo(tmp_path / "demo", _quiet)
    return [check for check in run_checks(evidence) if not check.holds]


async def test_a_password_in_a_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real run with the password planted into its state: that check fails, and no other."""
    write: Write = run.write_project

    def plant(project: Project, world: World, beside: Backends) -> None:
        write(project, world, beside)
        password = json.loads(beside.kept_secret())["data"]["data"]["password"]
        (project.state / "cache").write_bytes(b'{"auth": "' + password.encode().hex().encode() + b'"}')

    monkeypatch.setattr(run, "write_project", plant)
    (failed,) = await _failed(tmp_path)
    assert failed.claim == "The mail password is nowhere to be found"
    assert failed.saw == "state/cache (hex)"


async def _second(tmp_path: Path) -> RefundEvidence:
    with run._stage(tmp_path / "demo", _quiet) as stage:
        evidence = await play_refund(stage.project, stage.backends, _quiet)
    assert isinstance(evidence, RefundEvidence)
    return evidence


async def test_a_vendors_key_in_a_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real second scene with one of its keys planted: that check fails, and no other."""
    write: WriteRefund = refund.write_refund_project

    def plant(project: Project, world: World, shop: Shop, beside: Backends) -> None:
        write(project, world, shop, beside)
        (project.state / "cache").write_bytes(base64.b64encode(b"x" + shop.keys.linear.encode()))

    monkeypatch.setattr(refund, "write_refund_project", plant)
    (failed,) = [check for check in run_refund_checks(await _second(tmp_path)) if not check.holds]
    assert failed.claim == "None of the four keys is anywhere to be found"
    assert "state/cache (base64" in failed.saw


async def test_a_refund_that_nobody_approves_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real second scene whose person is a program: nothing is refunded, nobody is told so, and the checks say it."""
    write: WriteRefund = refund.write_refund_project

    def demote(project: Project, world: World, shop: Shop, beside: Backends) -> None:
        write(project, world, shop, beside)
        settings = json.loads(project.settings.read_text())
        settings["listeners"][1]["identity"]["principal_kind"] = "workflow"
        project.settings.write_text(json.dumps(settings))

    monkeypatch.setattr(refund, "write_refund_project", demote)
    monkeypatch.setattr(scene, "AGENT_SECONDS", 12.0)
    evidence = await _second(tmp_path)
    assert (evidence.refunds, evidence.messages, evidence.mailbox) == ((), (), ())
    failed = {check.claim for check in run_refund_checks(evidence) if not check.holds}
    assert "It ran once: Stripe has one refund, marked with the effect" in failed
    assert not {claim for claim in failed if "parked" in claim or "chain" in claim or "keys" in claim}


async def test_a_person_who_is_none_approves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real run in which the socket's identity is a program: it cannot decide, nothing is sent, the checks say so."""
    write: Write = run.write_project

    def demote(project: Project, world: World, beside: Backends) -> None:
        write(project, world, beside)
        settings = json.loads(project.settings.read_text())
        settings["listeners"][1]["identity"]["principal_kind"] = "workflow"
        project.settings.write_text(json.dumps(settings))

    monkeypatch.setattr(run, "write_project", demote)
    monkeypatch.setattr(scene, "AGENT_SECONDS", 8.0)
    failed = {check.claim for check in await _failed(tmp_path)}
    assert {
        "A person approved the very call that she saw",
        "It ran once: one line, one mail",
        "The decision has a line, with its reason",
        "The agent learned of it in every way there is",
    } <= failed
    assert not {claim for claim in failed if "parked" in claim or "chain" in claim or "password" in claim}


async def test_a_policy_that_lets_everything_through_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real run under a policy that allows whatever is asked: the stranger gets mail, and the checks say so."""
    write: Write = run.write_project

    def weaken(project: Project, world: World, beside: Backends) -> None:
        write(project, world, beside)
        folder = project.root / "weak"
        folder.mkdir()
        rule = 'package gateway.authz\n\ndecision := {"effect": "allow", "reasons": [], "obligations": []}\n'
        (folder / "weak.rego").write_text(rule)
        settings = json.loads(project.settings.read_text()) | {"policy": {"paths": ["weak"]}}
        project.settings.write_text(json.dumps(settings))

    monkeypatch.setattr(run, "write_project", weaken)
    monkeypatch.setattr(run, "opa_binary", lambda: None)
    monkeypatch.setattr(backends, "opa_binary", lambda: None)
    failed = {check.claim for check in await _failed(tmp_path)}
    assert {
        "Mail that policy allows is in the mailbox exactly once",
        "Mail to a stranger was denied, with advice",
        "A call that needs a person is parked, and nothing is sent",
        "A person approved the very call that she saw",
    } <= failed
    # What does not depend on policy holds all the same.
    assert not {claim for claim in failed if "redirect" in claim or "chain" in claim or "password" in claim}
