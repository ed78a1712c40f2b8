"""Slack is asked what became of an effect, and its silence is believed only for a while."""

import json
from typing import Any

import pytest
from fakes.vendor import NOW, Answer, Asked, Said, desk, vendor_server

from adapters.base import AdapterError, Finding
from adapters.slack.marks import block_id, message_marks

CHANNEL, TS = "C0FA2M81QXR", "1767225600.000300"
POST = {"channel": CHANNEL, "text": "Hello"}
REPLY = {**POST, "thread_ts": TS}
UPDATE = {**POST, "ts": TS}
UPLOAD = {"channel": CHANNEL, "filename": "a.txt", "comment": "x", "text": "a"}
OPEN = {"users": ["U0B7K2L9QPN"]}
OTHER = {"type": "message", "user": "U0B7K2L9QPN", "text": "Hello", "ts": "1767225500.000200"}
OURS = {**OTHER, "metadata": json.loads(message_marks("eff-1")["metadata"])}
RECENT = NOW - 300
DONE, NOT_DONE, STILL_UNKNOWN = Finding.DONE, Finding.NOT_DONE, Finding.STILL_UNKNOWN


def page(*messages: dict[str, Any], **more: Any) -> Said:
    """Of a channel or a thread."""
    return Said({"ok": True, "messages": list(messages), "has_more": False, **more})


def more(cursor: str) -> dict[str, Any]:
    """There is another page."""
    return {"has_more": True, "response_metadata": {"next_cursor": cursor}}


async def found(
    answer: Answer | Said, operation: str, arguments: dict[str, Any], since: float
) -> tuple[Finding, list[Asked]]:
    """What became of it, and what was asked."""
    async with vendor_server(answer) as server, desk(server) as at:
        return await at.reconcile("slack", operation, arguments, since=since), server.asked


async def test_a_message_with_our_mark_was_posted() -> None:
    """It is looked for since the first attempt, with its metadata."""
    finding, (asked,) = await found(page(OTHER, OURS), "post_message", POST, RECENT)
    assert finding is DONE
    assert asked.path == "/conversations.history"
    assert asked.form == {
        "channel": CHANNEL,
        "oldest": f"{RECENT:.6f}",
        "inclusive": "true",
        "include_all_metadata": "true",
        "limit": "100",
    }


async def test_the_same_words_without_our_mark_are_somebody_elses() -> None:
    """A text proves nothing."""
    assert (await found(page(OTHER), "post_message", POST, RECENT))[0] is STILL_UNKNOWN


@pytest.mark.parametrize("since", [NOW - 10, RECENT, NOW - 3599, 0.0])
async def test_absence_proves_nothing(since: float) -> None:
    """Too early it may still come, and at any time it may have been deleted by whoever saw it."""
    assert (await found(page(), "post_message", POST, since))[0] is STILL_UNKNOWN


async def test_every_page_is_read() -> None:
    """Ours may be on the last."""
    said = [page(OTHER, **more("p2")), page(OTHER, **more("p3")), page(OURS)]
    finding, asked = await found(lambda _asked: said.pop(0), "post_message", POST, RECENT)
    assert finding is DONE
    assert [one.form.get("cursor") for one in asked] == [None, "p2", "p3"]


async def test_a_list_without_end_is_left() -> None:
    """After twenty pages, and nothing is claimed."""
    finding, asked = await found(page(**more("p")), "post_message", POST, RECENT)
    assert (finding, len(asked)) == (STILL_UNKNOWN, 20)


@pytest.mark.parametrize(
    "value", [{"ok": False, "error": "not_in_channel"}, {"ok": True}, {"ok": False, "error": "new"}]
)
async def test_who_cannot_be_asked_says_nothing(value: Any) -> None:
    """An error is an error, and never a finding."""
    with pytest.raises(AdapterError):
        await found(Said(value), "post_message", POST, RECENT)


async def test_a_reply_is_looked_for_in_its_thread() -> None:
    """A channel's history does not have it."""
    finding, (asked,) = await found(page(OTHER, OURS), "reply_in_thread", REPLY, RECENT)
    assert finding is DONE
    assert (asked.path, asked.form["ts"]) == ("/conversations.replies", TS)
    assert (await found(page(OTHER), "reply_in_thread", REPLY, RECENT))[0] is STILL_UNKNOWN


async def test_a_file_is_found_by_the_block_beside_it() -> None:
    """In the channel or in the thread."""
    shared = {**OTHER, "blocks": [{"type": "section", "block_id": block_id("eff-1")}]}
    assert (await found(page(shared), "upload_file", UPLOAD, RECENT))[0] is DONE
    assert (await found(page(OTHER), "upload_file", UPLOAD, RECENT))[0] is STILL_UNKNOWN
    finding, (asked,) = await found(page(shared), "upload_file", {**UPLOAD, "thread_ts": TS}, RECENT)
    assert (finding, asked.path) == (DONE, "/conversations.replies")


@pytest.mark.parametrize(
    ("message", "since", "finding"),
    [
        ({"ts": TS, "text": "Hello"}, NOW, DONE),
        ({"ts": TS, "text": "Before"}, RECENT, NOT_DONE),
        ({"ts": TS, "text": "Before"}, NOW - 10, STILL_UNKNOWN),
        ({"ts": TS, "text": "Before", "edited": {"ts": f"{RECENT - 1}"}}, RECENT, NOT_DONE),
        ({"ts": TS, "text": "Later", "edited": {"ts": f"{RECENT + 1}"}}, RECENT, STILL_UNKNOWN),
        ({"ts": TS, "text": "Later", "edited": {}}, RECENT, STILL_UNKNOWN),
        ({"ts": TS, "text": "Later", "edited": {"ts": "nan"}}, RECENT, STILL_UNKNOWN),
        ({"ts": TS, "text": None, "edited": {"ts": "x"}}, RECENT, STILL_UNKNOWN),
        ({"ts": "1.000000", "text": "Hello"}, RECENT, STILL_UNKNOWN),
    ],
)
async def test_a_change_is_there_or_was_never_made(message: dict[str, Any], since: float, finding: Finding) -> None:
    """A message that was changed to something else since may have been changed to ours before."""
    assert (await found(page(message), "update_message", UPDATE, since))[0] is finding


async def test_links_in_a_changed_text_are_compared_as_they_were_written() -> None:
    """Slack puts brackets around them."""
    said = page({"ts": TS, "text": "see <https://a.example>", "edited": {"ts": f"{NOW}"}})
    assert (await found(said, "update_message", {**UPDATE, "text": "see https://a.example"}, RECENT))[0] is DONE


@pytest.mark.parametrize(
    ("value", "finding"),
    [
        ({"ok": True, "channel": {"id": "D1"}}, DONE),
        ({"ok": True}, STILL_UNKNOWN),
    ],
)
async def test_a_direct_message_is_there_or_nobody_knows(value: Any, finding: Finding) -> None:
    """It is asked for without being made."""
    got, (asked,) = await found(Said(value), "open_direct_message", OPEN, RECENT)
    assert got is finding
    assert asked.form == {"users": "U0B7K2L9QPN", "prevent_creation": "true"}


@pytest.mark.parametrize("error", ["missing_scope", "channel_not_found", "user_disabled"])
async def test_a_direct_message_that_cannot_be_asked_for_is_unknown(error: str) -> None:
    """By an error: a user who has left since may have been written to before."""
    with pytest.raises(AdapterError):
        await found(Said({"ok": False, "error": error}), "open_direct_message", OPEN, RECENT)


@pytest.mark.parametrize(
    ("messages", "was"), [([{"ts": TS, "text": "Before"}], "Before"), ([], None), ([{"ts": TS}], None)]
)
async def test_a_change_is_shown_before_it_is_made(messages: list[Any], was: str | None) -> None:
    """What the message says, and what it would say."""
    async with vendor_server(page(*messages)) as server, desk(server) as at:
        operation = at.adapters["slack"].operations["update_message"]
        assert operation.preview is not None
        shown = await operation.preview(at.invocation(operation.prepare(UPDATE)))
    assert shown == {"was": {"text": was}, "will_be": {"text": "Hello"}}
    assert [one.path for one in server.asked] == ["/conversations.replies"]
