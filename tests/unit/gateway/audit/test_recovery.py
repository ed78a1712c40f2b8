"""Recovery: the line of a call that was cut off, and the standing of its key."""

import pytest
from fakes.audit import opened, written
from fakes.clock import FakeClock
from fakes.files import Disk
from fakes.lines import begin, line

from gateway.audit.base import LineKind
from gateway.audit.records import Ledger, decode, encode, encode_begin, identity
from gateway.audit.recovery import recover

INTENT = {
    "type": "intent",
    "key": "k1",
    "call_id": "c1",
    "effect_id": "e1",
    "arguments_digest": "sha256:aa",
    "fields": {
        "side_effect": "send",
        "policy_reasons": ["a"],
        "decision": 7,
        "outcome": "ok",
        "recovered": False,
        "steps_us": {"x": 1},
        "nonsense": 1,
    },
}


def _ledger(*records: dict[str, object], begins: tuple[str, ...] = ("c1",)) -> Ledger:
    ledger = Ledger()
    for call_id in begins:
        ledger.begins[identity(LineKind.CALL, call_id)] = encode_begin(begin(call_id, run_id="r1"))
    for record in records:
        ledger.apply(record, encode(record))
    return ledger


def _ending(**changes: object) -> dict[str, object]:
    return {"kind": "call", "call_id": "c1", "seq": 5, "outcome": "ok", **changes}


def test_g15_a_call_that_was_cut_off_gets_its_line_from_begin_and_intent() -> None:
    """Outcome `unknown`, marked as recovered, with what both records say and nothing that they may not say."""
    (found,) = recover(_ledger(INTENT), [], 0.0).lines
    fields = {name: value for name, value in found._asdict().items() if value}
    assert fields == {
        **{name: value for name, value in begin("c1", run_id="r1")._asdict().items() if value},
        "effect_id": "e1",
        "arguments_digest": "sha256:aa",
        "side_effect": "send",
        "policy_reasons": ("a",),
        "outcome": "unknown",
        "reason": "outcome_unknown",
        "happened": "unknown",
        "recovered": True,
        "delivered": True,
    }


def test_a_call_with_a_line_gets_no_other() -> None:
    """And one with the same id of another kind does."""
    ledger = _ledger(begins=("c1", "c2"))
    found = recover(ledger, [_ending(), _ending(call_id="c2", kind="explain")], 0.0)
    assert [item.call_id for item in found.lines] == ["c2"]


@pytest.mark.parametrize(
    ("ending", "standing"),
    [
        (None, "unknown"),
        (_ending(), "done"),
        (_ending(happened="yes", outcome="provider_error", stopped_at="result"), "done"),
        (_ending(happened="unknown", outcome="unknown", stopped_at="adapter"), "unknown"),
        (_ending(happened="no", outcome="provider_error", stopped_at="adapter"), None),
        (_ending(outcome="unavailable", stopped_at="credentials"), None),
        (_ending(outcome="cancelled", stopped_at="claim"), None),
        (_ending(outcome="internal_error", stopped_at="adapter"), "unknown"),
        (_ending(outcome="unknown"), "unknown"),
    ],
)
def test_a_key_has_the_standing_that_is_certain(ending: dict[str, object] | None, standing: str | None) -> None:
    """Done when it happened, free when it did not, and unknown when nobody can say."""
    ledger = _ledger(INTENT)
    keys = recover(ledger, [ending] if ending else [], 100.0).keys
    assert [key["standing"] for key in keys] == ([standing] if standing else [])
    assert [decode(raw)["type"] for raw, _until in ledger.keys.values()] == (
        [{"done": "settled", "unknown": "unknown"}[standing]] if standing else []
    )
    if standing == "done":
        assert keys[0]["until"] == 100.0 + 86400


def test_a_done_key_is_forgotten_after_its_time() -> None:
    """One that is unknown never."""
    done = {"type": "settled", "key": "k1", "call_id": "c1", "effect_id": "e", "arguments_digest": "d", "until": 50.0}
    lost = {"type": "unknown", "key": "k2", "call_id": "c2", "effect_id": "e", "arguments_digest": "d"}
    assert [key["key"] for key in recover(_ledger(done, lost), [], 49.0).keys] == ["k1", "k2"]
    assert [key["key"] for key in recover(_ledger(done, lost), [], 50.0).keys] == ["k2"]


async def test_recovering_again_changes_nothing() -> None:
    """Two restarts after one crash leave one line."""
    disk = Disk()
    audit = opened(disk)
    audit.journal.begin(begin("c1"))
    audit.journal.begin(begin("c2"))
    await audit.sink.append(line("c2"))
    disk = disk.after_kill()
    for recovered in (1, 0, 0):
        again = opened(disk, FakeClock())
        assert again.recovered == recovered
        disk = disk.after_kill()
    outcomes = {value["call_id"]: value["outcome"] for value in written(disk)}
    assert outcomes == {"c1": "unknown", "c2": "ok"}
