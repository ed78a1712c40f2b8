"""Policy sees exactly what Slack gets."""

from typing import Any

import pytest

from adapters.base import ArgumentProblem
from adapters.slack import arguments
from adapters.transport.cursors import cursor_to

CHANNEL, TS, ANN, BO = "C0FA2M81QXR", "1767225600.000300", "U0B7K2L9QPN", "U0C3D81NNWA"
NOBODY: dict[str, Any] = {"mentions": [], "mentioned_users": [], "mentioned_groups": [], "is_channel_wide": False}


def test_a_post_says_where_and_what_and_whom_it_calls() -> None:
    """Nothing else."""
    assert arguments.prepare_post({"channel": CHANNEL, "text": "1 < 2"}) == {
        "channel": CHANNEL,
        "is_direct": False,
        "text": "1 &lt; 2",
        **NOBODY,
    }


def test_a_reply_names_its_thread_and_a_change_its_message() -> None:
    """By timestamp."""
    assert arguments.prepare_reply({"channel": CHANNEL, "thread_ts": TS, "text": "a"})["thread_ts"] == TS
    assert arguments.prepare_update({"channel": CHANNEL, "ts": TS, "text": "a"})["ts"] == TS


def test_everything_wrong_with_a_reply_is_told() -> None:
    """Three issues of three arguments."""
    with pytest.raises(ArgumentProblem) as caught:
        arguments.prepare_reply({"channel": "x", "thread_ts": "y", "text": ""})
    assert [issue.path for issue in caught.value.issues] == ["/channel", "/thread_ts", "/text"]


def test_a_list_has_every_default() -> None:
    """And no page at first."""
    assert arguments.prepare_channels({}) == {"include_private": False, "limit": 20, "cursor": None, "page": None}


def test_a_cursor_leads_to_a_page_of_the_same_list_only() -> None:
    """Private channels are another list."""
    first = arguments.prepare_channels({})
    cursor = cursor_to("dGVhbQ==", "list_channels", first)
    assert arguments.prepare_channels({"cursor": cursor})["page"] == "dGVhbQ=="
    with pytest.raises(ArgumentProblem) as caught:
        arguments.prepare_channels({"cursor": cursor, "include_private": True})
    assert [issue.path for issue in caught.value.issues] == ["/cursor"]


def test_a_history_has_its_moments_in_both_forms() -> None:
    """For people, and for Slack."""
    prepared = arguments.prepare_history({"channel": CHANNEL, "after": "2026-01-01T00:00:00Z"})
    assert (prepared["after"], prepared["oldest"]) == ("2026-01-01T00:00:00Z", "1767225600.000000")
    assert (prepared["before"], prepared["latest"], prepared["limit"]) == (None, None, 20)


def test_a_user_is_looked_for_by_one_address() -> None:
    """In lower case."""
    assert arguments.prepare_find_user({"email": "Ann@Corp.example"}) == {
        "email": "ann@corp.example",
        "domain": "corp.example",
    }


def test_a_direct_message_is_with_each_user_once() -> None:
    """In an order that does not depend on the agent, so that the same users are the same arguments."""
    assert arguments.prepare_open({"users": [BO, ANN, BO]}) == {"users": [ANN, BO]}


@pytest.mark.parametrize("users", [[], [f"U000000000{n}" for n in range(9)]])
def test_a_direct_message_has_from_one_to_eight_users(users: list[str]) -> None:
    """As Slack has it."""
    with pytest.raises(ArgumentProblem) as caught:
        arguments.prepare_open({"users": users})
    assert [(issue.path, issue.rule) for issue in caught.value.issues] == [("/users", "count")]
