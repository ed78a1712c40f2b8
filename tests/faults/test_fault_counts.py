"""The counting of the fault suites: what artifacts show to be wrong is seen, and nothing else."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fakes.served import served
from fakes.tampering import KINDS
from faults.suites.accounts import ANSWERS, DEATHS, EFFECTS, violations_of
from faults.suites.kill_points import BEGUN
from faults.suites.suite import GUARDED, Counts, Form, recounted, report
from faults.suites.tampering import Check, tamper, tampering_counts, with_chain, without_chain

from gateway.audit.open import audit_directory
from gateway.settings.parts import AuditSettings

SMALL = AuditSettings(segment_bytes=64 * 1024)


class Small:
    """A suite of two cases, which sees its mutant when told to."""

    name = "small"
    title = "nothing"
    mutants: tuple[str, ...] = ("no_guard",)

    def __init__(self, *, cases: int = 2, sees: bool = True) -> None:
        self._cases = cases
        self._sees = sees

    def needed(self, *, is_quick: bool) -> Mapping[str, int]:
        """Two cases; in the quick form one."""
        return {"part": 1 if is_quick else 2}

    async def run(self, folder: Path, form: Form) -> None:
        """Keep how many cases there were, and what was wrong."""
        keep(folder, self._cases, ["seen"] if form.mutant and self._sees else [])

    def count(self, folder: Path) -> Counts:
        """As kept."""
        kept = json.loads((folder / "artifact").read_text())
        return Counts(cases={"part": kept["cases"]}, violations=tuple(kept["wrong"]))


def keep(folder: Path, cases: int, wrong: list[str]) -> None:
    """The artifact of the small suite."""
    (folder / "artifact").write_text(json.dumps({"cases": cases, "wrong": wrong}))


async def test_a_suite_that_holds_has_no_problem(tmp_path: Path) -> None:
    """Enough cases, no violation, the mutant noticed; the artifacts alone say so again."""
    done = await report(Small(), tmp_path, is_quick=False)
    assert done.problems == ()
    assert done.as_json()["mutant_violations"] == 1
    assert recounted(Small(), tmp_path, is_quick=False, seconds=done.seconds) == done


async def test_fewer_cases_than_needed_are_a_problem(tmp_path: Path) -> None:
    """Fewer are enough in the quick form."""
    assert (await report(Small(cases=1), tmp_path, is_quick=False)).problems == ("part: 1 cases of 2",)
    assert (await report(Small(cases=1), tmp_path, is_quick=True)).problems == ()


async def test_a_mutant_that_nobody_notices_is_a_problem(tmp_path: Path) -> None:
    """A suite that sees nothing without the guard proves nothing with it."""
    (problem,) = (await report(Small(sees=False), tmp_path, is_quick=False)).problems
    assert "no_guard" in problem


async def test_counts_come_from_the_artifacts(tmp_path: Path) -> None:
    """Whoever changes them changes the counts."""
    await report(Small(), tmp_path, is_quick=False)
    keep(tmp_path / GUARDED, 7, ["planted"])
    again = recounted(Small(), tmp_path, is_quick=False, seconds=0.0)
    assert again.counts == Counts(cases={"part": 7}, violations=("planted",))


class History:
    """The artifacts of a real gateway with two calls: a read, and a write with an effect."""

    def __init__(self, folder: Path, read: str, write: str) -> None:
        self.folder = folder
        self.begun = {read: "", write: "k"}
        self.effects = [{"effect_id": write, "key": "k"}]
        told = {"phase": "", "outcome": "ok", "replay": False}
        self.answers: list[dict[str, Any]] = [
            told | {"key": "", "call_id": read},
            told | {"key": "k", "call_id": write},
        ]
        self.deaths: list[dict[str, Any]] = []

    def violations(self, **more: bool) -> list[str]:
        """What is found in them as they are now."""
        (self.folder / BEGUN).write_text("".join(f"{call_id} {key}\n" for call_id, key in self.begun.items()))
        for name, records in ((EFFECTS, self.effects), (ANSWERS, self.answers), (DEATHS, self.deaths)):
            (self.folder / name).write_text("".join(json.dumps(one) + "\n" for one in records))
        return violations_of(self.folder, self.folder / EFFECTS, **more)


@pytest.fixture
async def history(tmp_path: Path) -> History:
    """One that is as it should be."""
    async with served(tmp_path) as one:
        read = await one.call()
        write = await one.call("note", '{"path":"k"}', key="k")
    return History(tmp_path, read.call_id, write.call_id)


def test_a_history_as_it_should_be_has_no_violation(history: History) -> None:
    """Also when the power was cut."""
    assert history.violations() == []
    assert history.violations(is_power_cut=True) == []


def test_a_second_effect_of_a_key_is_seen(history: History) -> None:
    """Whoever asked for it."""
    history.effects.append({"effect_id": "another", "key": "k"})
    assert [one for one in history.violations() if "2 effects" in one]


def test_a_call_without_its_line_is_seen(history: History) -> None:
    """After a power cut only when it was answered."""
    history.begun["lost"] = ""
    assert [one for one in history.violations() if "lost has 0 lines" in one]
    assert history.violations(is_power_cut=True) == []
    history.answers.append({**history.answers[0], "call_id": "lost"})
    assert [one for one in history.violations(is_power_cut=True) if "lost has 0 lines" in one]


def test_a_durable_intent_demands_a_line(history: History) -> None:
    """Also after a power cut: the call died behind its claim."""
    history.begun["lost"] = "cut"
    history.deaths.append({"boundary": "policy", "key": "cut", "status": -9})
    assert history.violations(is_power_cut=True) == []
    history.deaths[0]["boundary"] = "claim"
    assert [one for one in history.violations(is_power_cut=True) if "lost has 0 lines" in one]


def test_a_line_of_no_call_is_seen(history: History) -> None:
    """Nobody can have begun it."""
    del history.begun[history.answers[0]["call_id"]]
    assert [one for one in history.violations() if "never began" in one]


def test_done_that_was_not_done_is_seen(history: History) -> None:
    """The answer says so, and the vendor knows of nothing."""
    history.effects.clear()
    assert [one for one in history.violations() if "had no effect" in one]


def test_free_that_was_done_is_seen(history: History) -> None:
    """Whoever is told that may try again under another key."""
    history.answers[1]["outcome"] = "vendor_refused"
    assert [one for one in history.violations() if "was told vendor_refused" in one]


def test_an_unknown_effect_that_no_line_tells_of_is_seen(history: History) -> None:
    """The line of a read is not one of an effect."""
    history.effects.append({"effect_id": history.answers[0]["call_id"], "key": "k"})
    assert [one for one in history.violations() if "its line says ok" in one]


def test_a_gateway_that_does_not_start_again_is_seen(history: History) -> None:
    """Whatever it says about it."""
    history.deaths.append({"boundary": "start", "key": "", "status": 0, "refused": "the audit was changed"})
    assert [one for one in history.violations() if "did not serve again" in one]


def test_an_audit_that_was_changed_is_seen(history: History) -> None:
    """By the product's own verification."""
    file = next(iter(audit_directory(history.folder / "state").glob("*.jsonl")))
    file.write_bytes(file.read_bytes().replace(b"grpc", b"http", 1))
    assert [one for one in history.violations() if "does not verify" in one]


async def test_every_kind_of_tampering_is_located_by_the_chain_alone(tmp_path: Path) -> None:
    """Twice each. What every line says of itself shows only some of them."""
    async with served(tmp_path, audit=SMALL) as one:
        for number in range(100):
            await one.call("echo", json.dumps({"text": f"{number}" + "x" * 2000}))
    audit = audit_directory(tmp_path / "state")

    def counted(check: Check) -> Counts:
        folder = tmp_path / check.__name__
        folder.mkdir()
        tamper(audit, folder, cases=2 * len(KINDS), check=check, tick=lambda: None)
        return tampering_counts(folder, "part")

    assert len(list(audit.glob("*.jsonl"))) > 2
    assert await asyncio.to_thread(counted, with_chain) == Counts(cases={"part": 2 * len(KINDS)}, violations=())
    assert len((await asyncio.to_thread(counted, without_chain)).violations) > 2
