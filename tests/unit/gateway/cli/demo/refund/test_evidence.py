"""The second scene's evidence, and why there may be none."""

from dataclasses import FrozenInstanceError

import pytest
from fakes.demo_refund import good_refund

from gateway.cli.demo.record import Record
from gateway.cli.demo.refund.evidence import LeftOut
from gateway.cli.demo.refund.steps import Step


def test_it_is_a_record_with_what_the_vendors_say() -> None:
    """Which no report shows by accident: it is private."""
    evidence = good_refund()
    assert isinstance(evidence, Record)
    assert evidence.one(Step.REFUND)["pending"]["approval_id"]
    assert "tollhouse_effect" not in repr(evidence)


def test_a_scene_that_was_left_out_says_why() -> None:
    """And stays so."""
    left_out = LeftOut(why="there is no Node")
    with pytest.raises(FrozenInstanceError):
        left_out.why = ""  # type: ignore[misc]
