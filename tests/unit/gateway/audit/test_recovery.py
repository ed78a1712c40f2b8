"""Recovery: which calls were cut off, and what their lines say."""

import pytest
from fakes.lines import begin

from adapters.base import Happened
from gateway.audit.base import LineKind
from gateway.audit.records import Ledger, decode, encode_begin
from gateway.audit.recovery import begin_of, cut_off, happened_by, line_of

INTENT = {
    "effect_id": "e1",
    "arguments_digest": "sha256:aa",
    "side_effect": "send",
    "policy_reasons": ["a"],
    "decision": 7,
    "outcome": "ok",
    "recovered": False,
    "steps_us": {"x": 1},
    "nonsense": 1,
}


def _ledger(*call_ids: str, adopted: tuple[str, ...] = ()) -> Ledger:
    ledger = Ledger()
    for call_id in call_ids:
        raw = encode_begin(begin(call_id, run_id="r1"), is_adopted=call_id in adopted)
        ledger.apply(decode(raw), raw)
    return ledger


def _ending(**changes: object) -> dict[str, object]:
    return {"kind": "call", "call_id": "c1", "seq": 5, "outcome": "ok", **changes}


def test_a_call_with_a_line_was_not_cut_off() -> None:
    """One with the same id of another kind was, and it is known whose it is."""
    found = cut_off(_ledger("c1", "c2", "c3", adopted=("c3",)), [_ending(), _ending(call_id="c2", kind="explain")])
    assert [(one.call, one.tenant, one.is_adopted) for one in found] == [
        (("call", "c2"), "acme", False),
        (("call", "c3"), "acme", True),
    ]


def test_g15_a_call_that_was_cut_off_gets_its_line_from_begin_and_intent() -> None:
    """Outcome `unknown`, marked as recovered, with what both records say and nothing that they may not say."""
    (one,) = cut_off(_ledger("c1"), [])
    found = line_of(one.begin, INTENT, Happened.UNKNOWN)
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


def test_a_read_that_was_cut_off_says_nothing_of_an_effect() -> None:
    """There is no intent."""
    (one,) = cut_off(_ledger("c1"), [])
    assert line_of(one.begin, {}, None).happened == ""


@pytest.mark.parametrize(
    ("ending", "happened"),
    [
        (_ending(), Happened.YES),
        (_ending(happened="yes", outcome="provider_error", stopped_at="result"), Happened.YES),
        (_ending(happened="unknown", outcome="unknown", stopped_at="adapter"), Happened.UNKNOWN),
        (_ending(happened="no", outcome="provider_error", stopped_at="adapter"), Happened.NO),
        (_ending(outcome="unavailable", stopped_at="credentials"), Happened.NO),
        (_ending(outcome="cancelled", stopped_at="claim"), Happened.NO),
        (_ending(outcome="internal_error", stopped_at="adapter"), Happened.UNKNOWN),
        (_ending(outcome="unknown"), Happened.UNKNOWN),
    ],
)
def test_a_line_tells_what_became_of_the_effect(ending: dict[str, object], happened: Happened) -> None:
    """Done when it happened, free when it did not, and unknown when nobody can say."""
    assert happened_by(ending) is happened


def test_an_intent_holds_the_beginning_of_its_call() -> None:
    """So that another gateway can tell of it. One that does not is an error that its reader sees."""
    began = begin("c1", run_id="r1")
    assert begin_of(began._asdict() | {"effect_id": "e"}) == began
    assert began.kind is LineKind.CALL
    with pytest.raises(KeyError):
        begin_of({"kind": "call"})
    with pytest.raises(ValueError, match="nonsense"):
        begin_of(began._asdict() | {"kind": "nonsense"})
