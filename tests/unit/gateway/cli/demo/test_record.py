"""A record tells calls from what only asks about them, and says an outcome in one word."""

from fakes.demo_evidence import error, good_evidence

from gateway.cli.demo.errand import Label, Way
from gateway.cli.demo.record import outcome_of


def test_outcomes_have_one_word() -> None:
    """`ok`, `replay`, `pending`, an error code, or `nothing`."""
    assert outcome_of({"result": {}, "replay": False}) == "ok"
    assert outcome_of({"result": {}, "replay": True}) == "replay"
    assert outcome_of({"pending": {}}) == "pending"
    assert outcome_of(error("not_found", "tool_not_found")) == "not_found"
    assert outcome_of({}) == "nothing"


def test_what_only_asks_about_a_call_is_no_call() -> None:
    """Following a call and asking how it stands leave no line, and are not counted."""
    evidence = good_evidence()
    assert len(evidence.answers) - len(evidence.calls) == 2
    assert {call["kind"] for call in evidence.calls} == {Way.CALL}


def test_only_the_one_answer_of_a_label_is_given() -> None:
    """Of several, or of none, there is nothing to be said."""
    evidence = good_evidence()
    assert evidence.one(Label.MAIL)["replay"] is False
    assert evidence.one(Label.BURST) == {}


def test_lines_are_found_by_their_kind() -> None:
    """Of a kind that there is not, none."""
    evidence = good_evidence()
    assert [line["kind"] for line in evidence.lines_of("execution")] == ["execution"]
    assert evidence.lines_of("resolution") == []
