"""Whole-path cases: a call, what its steps are made to do, and what must come of it.

A case is a file in `cases/`. `arrange` says what a part does, `before` which calls came first, `restart`
that the process ended in between; `want` holds the outcome, some fields of the one audit line (null: no
line), the steps that the line tells of, and how often the vendor was asked. A call that is `approve: true`
is no call: people approve the one that was parked last, and it is carried out; `approve: again` carries it out
once more.
"""

import asyncio
import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.audit import until
from fakes.engine import FakeEngine
from fakes.keys import DictKeys
from fakes.path import WIDE, Road, RowChanges, road
from fakes.principals import principal

from adapters.base import AdapterError, ArgumentIssue, ArgumentProblem, ErrorKind, Fault, Happened, Output
from gateway.call import Answer, Failure, Pending, Result
from gateway.errors import Reason, Refusal
from gateway.settings.limits import LimitSettings

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
TESTED_ELSEWHERE = {
    Reason.CANCELLED: "tests/unit/gateway/test_pipeline.py",
    Reason.KEY_IN_PROGRESS: "tests/unit/gateway/test_pipeline.py",
    Reason.CALL_NOT_FOUND: "tests/unit/gateway/handles/test_handles.py",
    Reason.ARTIFACT_NOT_FOUND: "tests/unit/gateway/result/test_artifacts.py",
}
"""They take a second caller, or one that leaves; the last two stop no call."""
ARRANGED = {
    "limits",
    "max_argument_bytes",
    "policy",
    "policy_after",
    "policy_refuses",
    "policy_raises",
    "tools",
    "budgets",
    "caps",
    "stopped",
    "stops",
    "vendor",
    "vendor_raises",
    "vendor_returns",
    "prepare",
    "limiter",
    "credential",
    "store",
    "results",
    "approvals",
    "max_open_approvals",
    "approval",
    "disk",
    "intent",
    "sync",
}


class Panic(BaseException):
    """As a Rust extension raises it: no Exception."""


RAISED: dict[str, Callable[[], BaseException]] = {
    "KeyError": lambda: KeyError("tok-5d1c6a6e9b"),
    "RuntimeError": lambda: RuntimeError("tok-5d1c6a6e9b"),
    "Panic": lambda: Panic("tok-5d1c6a6e9b"),
    "CancelledError": asyncio.CancelledError,
}


class RaisingEngine(FakeEngine):
    """An engine that fails as it must not."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    async def decide(self, _input_json: bytes) -> Any:
        """Fail."""
        raise self.error


def _load(path: Path) -> dict[str, Any]:
    case = yaml.safe_load(path.read_text("utf-8"))
    unknown = case.keys() - {"description", "caller", "arrange", "before", "restart", "call", "want"}
    assert not unknown, f"{path.name}: unknown keys {unknown}"
    unread = case.get("arrange", {}).keys() - ARRANGED
    assert not unread, f"{path.name}: unknown keys {unread} of arrange"
    return dict(case)


def _changes(case: dict[str, Any]) -> dict[str, Any]:
    """What a road is built with."""
    arrange = case.get("arrange", {})
    changes: dict[str, Any] = {**_engine(arrange), **_caller(case.get("caller", {}))}
    if "limits" in arrange:
        tenant = {} if "tenant" in arrange["limits"] else {"tenant": WIDE.tenant}
        changes["limits"] = LimitSettings.model_validate({**tenant, **arrange["limits"]})
    if "max_argument_bytes" in arrange:
        changes["max_argument_bytes"] = arrange["max_argument_bytes"]
    if arrange.get("credential") == "not_granted":
        changes["grants"] = ()
    agent = {name: arrange[name] for name in ("budgets", "caps") if name in arrange}
    return {**changes, "rows": RowChanges(agent=agent, tools=arrange.get("tools", {}))}


def _engine(arrange: dict[str, Any]) -> dict[str, Any]:
    if "policy_refuses" in arrange:
        return {"engine": FakeEngine(Refusal(Reason(arrange["policy_refuses"]), "No decision can be had."))}
    if "policy_raises" in arrange:
        return {"engine": RaisingEngine(RAISED[arrange["policy_raises"]]())}
    return {"engine": FakeEngine(arrange["policy"])} if "policy" in arrange else {}


def _caller(said: dict[str, Any]) -> dict[str, Any]:
    if not said:
        return {}
    return {"caller": principal(**{**said, "scopes": frozenset(said.get("scopes", ("test:read", "test:write")))})}


def _arrange(one: Road, arrange: dict[str, Any]) -> None:
    """What the vendor and the parts around the path do, from the first call on."""
    if "vendor" in arrange:
        one.adapter.failures.append(_vendor_error(arrange["vendor"]))
    if "vendor_raises" in arrange:
        one.adapter.failures.append(RAISED[arrange["vendor_raises"]]())
    if "vendor_returns" in arrange:
        one.adapter.output = Output(structured=arrange["vendor_returns"])
    if "prepare" in arrange:
        one.hook("arguments", _refuse_arguments if arrange["prepare"] == "refuses" else _break)
    one.limiter.is_down = arrange.get("limiter") == "down"
    one.halts.tools.update(arrange.get("stopped", ()))
    one.halts.is_unknown = arrange.get("stops") == "unknown"
    one.approvals.most = arrange.get("max_open_approvals", one.approvals.most)
    _arrange_source(one, arrange.get("credential", ""))


def _arrange_source(one: Road, credential: str) -> None:
    if credential == "missing":
        one.source.values.clear()
    elif credential == "short":
        one.source.values["FAKE_TOKEN"] = "abc"
    elif credential == "broken":
        one.source.failure = OSError("tok-5d1c6a6e9b")


def _arrange_last(one: Road, arrange: dict[str, Any]) -> None:
    """What changes just before the call that the case is about."""
    if "policy_after" in arrange:
        assert isinstance(one.engine, FakeEngine)
        one.engine.answer = arrange["policy_after"]
    _arrange_last_store(one, arrange)
    if arrange.get("disk") == "full":
        one.disk.room = 0
    if arrange.get("intent") == "fails":
        one.hook("claim", lambda: _fail_syncs(one))
        one.hook("audit", lambda: _heal(one))
    if arrange.get("sync") == "fails_at_line":
        one.hook("audit", lambda: _fail_syncs(one))


def _arrange_last_store(one: Road, arrange: dict[str, Any]) -> None:
    keys = one.keys.of(one.caller.tenant)
    assert isinstance(keys, DictKeys)
    keys.is_down = arrange.get("store") == "down"
    one.approvals.is_down = arrange.get("approvals") == "down"
    if arrange.get("results") == "lost":
        keys.known = {key: replace(known, result=None) for key, known in keys.known.items()}
    if "approval" in arrange:
        one.approvals.end(Reason(arrange["approval"]))


def _fail_syncs(one: Road) -> None:
    one.disk.sync_error = OSError(errno.EIO, "input/output error")


def _heal(one: Road) -> None:
    one.disk.sync_error = None


def _refuse_arguments() -> None:
    raise ArgumentProblem(ArgumentIssue(path="/text", rule="vendor_rule", message="The vendor takes no such text."))


def _break() -> None:
    raise RuntimeError("tok-5d1c6a6e9b")


def _vendor_error(said: dict[str, str]) -> AdapterError:
    fault = Fault(said["fault"]) if "fault" in said else None
    return AdapterError(
        ErrorKind(said["kind"]), "The vendor did not do it.", happened=Happened(said["happened"]), fault=fault
    )


async def _make(one: Road, call: dict[str, Any]) -> Answer | Failure | None:
    """What came of a call, or of an explanation."""
    named = {"key": "key", "run": "run_id", "step": "step_id", "mode": "mode"}
    more = {field: call[name] for name, field in named.items() if name in call}
    try:
        if call.get("approve"):
            return await one.execute(one.approvals.approve() if call["approve"] is True else one.approvals.approved[-1])
        if call.get("kind") == "explain":
            return (await one.explain(call["tool"], call["arguments"], **more)).failure
        return await one.call(call["tool"], call["arguments"], **more)
    except Refusal as refusal:  # there was no call
        return Failure.of(refusal)


async def _run(case: dict[str, Any], one: Road) -> tuple[Answer | Failure | None, list[dict[str, Any]]]:
    """What the case's own call came to, and the lines that it left."""
    arrange = case.get("arrange", {})
    _arrange(one, arrange)
    for call in case.get("before", ()):
        await _make(one, call)
    if case.get("restart"):
        await one.restart()
    count = len(one.lines)
    _arrange_last(one, arrange)
    got = await _make(one, case["call"])
    one.disk.sync_error = one.disk.room = None
    await until(lambda: one.audit.sink.is_healthy)  # a line that is owed is written by then
    return got, one.lines[count:]


def _check_answer(got: Answer | Failure | None, want: dict[str, Any]) -> None:
    outcome = got.outcome if isinstance(got, Answer) else got
    if want["outcome"] == "ok":
        assert outcome is None or isinstance(outcome, Result)
    elif want["outcome"] == "pending":
        assert isinstance(outcome, Pending)
    else:
        assert isinstance(outcome, Failure)
        _check_failure(outcome, want)
    assert want.get("replay", False) == (isinstance(got, Answer) and got.is_replay)


def _check_failure(failure: Failure, want: dict[str, Any]) -> None:
    assert (want["outcome"], want["reason"]) == (failure.code.value, failure.reason.value)
    assert want.get("message", "") in failure.message
    assert failure.message
    assert len(failure.message.encode()) <= 512
    if "issues" in want:
        assert want["issues"] == [[issue.path, issue.rule] for issue in failure.issues]
    if "policy_reasons" in want:
        assert want["policy_reasons"] == [reason.code for reason in failure.policy_reasons]
    if failure.reason.value.endswith("_rate") and failure.reason is not Reason.VENDOR_RATE:
        assert failure.retry_after_ms > 0


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
async def test_case(path: Path) -> None:
    """The answer, the one line, its steps and the vendor's share are what the file wants. No secret is in them."""
    case = _load(path)
    want = case["want"]
    async with road(**_changes(case)) as one:
        got, lines = await _run(case, one)
        _check_answer(got, want)
        assert want["effects"] == one.effects
        if want["line"] is None:
            assert lines == []
            return
        (line,) = lines
    assert want["line"] == {name: line.get(name) for name in want["line"]}
    assert want["steps"] == list(line["steps_us"])
    assert "tok-5d1c6a6e9b" not in str(line) + str(got)


def test_every_reason_has_a_case() -> None:
    """Each reason is wanted by a case, or tested elsewhere by its name."""
    wanted = {_load(path)["want"].get("reason") for path in CASES}
    missing = {reason for reason in Reason if reason.value not in wanted}
    assert missing == TESTED_ELSEWHERE.keys()
    root = Path(__file__).parent.parent.parent
    for reason, file in TESTED_ELSEWHERE.items():
        assert f"Reason.{reason.name}" in (root / file).read_text("utf-8")


def test_a_misspelled_key_of_a_case_is_an_error(tmp_path: Path) -> None:
    """A case that says what nobody reads would pass for nothing."""
    bad = tmp_path / "bad.yaml"
    for text in ("description: x\ncal: {}\n", "description: x\narrange: {stoped: [echo]}\n"):
        bad.write_text(text)
        with pytest.raises(AssertionError, match="unknown keys"):
            _load(bad)
