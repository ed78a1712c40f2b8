"""An effect leaves a mark by which it is found, and which tells nobody anything."""

import json
from typing import Any
from uuid import UUID

import pytest

from adapters.slack.marks import block_id, is_marked, mark_of, message_marks


def test_a_mark_is_the_same_for_the_same_effect_only() -> None:
    """And does not hold the effect's id."""
    assert mark_of("effect-1") == mark_of("effect-1") != mark_of("effect-2")
    assert "effect-1" not in mark_of("effect-1")
    assert len(mark_of("effect-1")) == 32


def test_a_message_carries_metadata_and_an_id_of_ours() -> None:
    """As Slack takes them: JSON in a string, and a UUID."""
    marks = message_marks("effect-1")
    metadata = json.loads(marks["metadata"])
    assert metadata == {"event_type": "tollhouse_effect", "event_payload": {"effect": mark_of("effect-1")}}
    assert UUID(marks["client_msg_id"]).version == 5
    assert marks["client_msg_id"] != message_marks("effect-2")["client_msg_id"]


@pytest.mark.parametrize(
    "message",
    [
        {"metadata": {"event_type": "tollhouse_effect", "event_payload": {"effect": mark_of("effect-1")}}},
        {"client_msg_id": message_marks("effect-1")["client_msg_id"]},
        {"blocks": [None, {"type": "divider"}, {"block_id": block_id("effect-1")}]},
    ],
)
def test_a_marked_message_is_found_by_any_mark(message: Any) -> None:
    """Of its own effect, and not of another."""
    assert is_marked(message, "effect-1")
    assert not is_marked(message, "effect-2")


@pytest.mark.parametrize(
    "message", [{}, {"metadata": None}, {"metadata": {"event_payload": []}}, {"blocks": "x"}, {"blocks": [{}]}]
)
def test_other_messages_are_not_marked(message: Any) -> None:
    """Whatever shape they have."""
    assert not is_marked(message, "effect-1")
