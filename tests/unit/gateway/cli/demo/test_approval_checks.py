"""What the rules of approval see in good evidence; that each can fail is shown with all other claims."""

from dataclasses import replace

import pytest
from fakes.demo_evidence import good_evidence

from gateway.cli.demo import approval_checks as rules


def test_good_evidence_is_told_in_a_few_words() -> None:
    """A person reads what was seen beside each claim."""
    evidence = good_evidence()
    assert rules.parked(evidence) == (True, "pending, 0 sent")
    assert rules.cannot_approve_itself(evidence) == (True, "not served there; the people's folder has mode 0700")
    assert rules.approved_what_was_seen(evidence) == (True, "1 digest, 1 approval")
    assert rules.ran_once(evidence) == (True, "1 execution line, 1 mail")
    assert rules.decision_written(evidence) == (True, "approver-1: The text is as we agreed.")
    assert rules.agent_learned(evidence) == (True, "the same result three times")
    assert rules.stopped(evidence) == (True, "stopped")


def test_a_folder_that_others_may_enter_is_told_with_its_mode() -> None:
    """Whoever reads it knows what to mend."""
    holds, saw = rules.cannot_approve_itself(replace(good_evidence(), control_mode=0o755))
    assert (holds, saw[-4:]) == (False, "0755")


def test_without_any_command_there_is_nothing_to_judge() -> None:
    """The checks take that for a claim that does not hold."""
    nothing = replace(good_evidence(), typed=())
    with pytest.raises(ValueError, match="unpack"):
        rules.approved_what_was_seen(nothing)
    with pytest.raises(IndexError):
        rules.cannot_approve_itself(nothing)
