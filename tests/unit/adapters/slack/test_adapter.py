"""Slack, from an agent's arguments to what Slack is asked."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from fakes.cases.slack import CHANNELS, HISTORY, POSTED
from fakes.clock import FakeClock
from fakes.vendor import Asked, Said, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened, SideEffect, Target
from adapters.installed import build_adapters
from adapters.slack.marks import message_marks

CHANNEL, TS = "C0FA2M81QXR", "1767225600.000300"
POST = {"channel": CHANNEL, "text": "1 < 2 <!channel>"}
ROTATING = json.dumps({"client_id": "1.2", "client_secret": "s3cr3t-s3cr3t", "refresh_token": "xoxe-1-first"})


async def test_a_message_is_posted_with_its_marks_and_without_commands() -> None:
    """Nothing in the text rings, no link is opened, and no name is looked up."""
    async with vendor_server(Said(POSTED)) as server, desk(server) as at:
        output = await at.ask("slack", "post_message", POST)
    (asked,) = server.asked
    assert asked.path == "/chat.postMessage"
    assert asked.form == {
        "channel": CHANNEL,
        "text": "1 &lt; 2 &lt;!channel&gt;",
        "parse": "none",
        "link_names": "false",
        "unfurl_links": "false",
        "unfurl_media": "false",
        **message_marks("eff-1"),
    }
    assert output.structured == {"channel": CHANNEL, "ts": TS}
    assert output.receipt == f"Posted a message in {CHANNEL} (ts {TS})."


async def test_a_reply_is_posted_into_its_thread() -> None:
    """And is not shown to the channel."""
    async with vendor_server(Said(POSTED)) as server, desk(server) as at:
        output = await at.ask("slack", "reply_in_thread", {**POST, "thread_ts": "1767225000.000100"})
    assert server.asked[0].form["thread_ts"] == "1767225000.000100"
    assert "reply_broadcast" not in server.asked[0].form
    assert output.structured == {"channel": CHANNEL, "ts": TS, "thread_ts": "1767225000.000100"}


async def test_a_change_leaves_the_marks_of_the_post() -> None:
    """Slack keeps metadata that a change does not name; and it makes nothing out of the text by itself."""
    async with vendor_server(Said(POSTED)) as server, desk(server) as at:
        await at.ask("slack", "update_message", {**POST, "ts": TS})
    (asked,) = server.asked
    assert asked.path == "/chat.update"
    assert asked.form == {
        "channel": CHANNEL,
        "ts": TS,
        "text": "1 &lt; 2 &lt;!channel&gt;",
        "parse": "none",
        "link_names": "false",
    }


async def test_a_direct_message_is_with_all_users() -> None:
    """In one conversation."""
    users = ["U0C3D81NNWA", "U0B7K2L9QPN"]
    async with vendor_server(Said({"ok": True, "channel": {"id": "D1"}})) as server, desk(server) as at:
        output = await at.ask("slack", "open_direct_message", {"users": users})
    assert server.asked[0].form == {"users": "U0B7K2L9QPN,U0C3D81NNWA"}
    assert output.structured == {"channel": "D1", "was_open": False, "users": sorted(users)}


async def test_a_list_goes_on_where_it_ended() -> None:
    """The agent's cursor is Slack's, and of this list only."""
    last = {**CHANNELS, "response_metadata": {"next_cursor": ""}}
    said = [Said(CHANNELS), Said(last)]
    async with vendor_server(lambda _asked: said.pop(0)) as server, desk(server) as at:
        first = await at.ask("slack", "list_channels", {"include_private": True, "limit": 2})
        cursor = first.structured["next_cursor"]
        second = await at.ask("slack", "list_channels", {"include_private": True, "limit": 2, "cursor": cursor})
    assert [one.form.get("cursor") for one in server.asked] == [None, "dGVhbTpDMDYxRkE1UEI="]
    assert server.asked[0].form["types"] == "public_channel,private_channel"
    assert server.asked[0].form["exclude_archived"] == "true"
    assert second.structured["next_cursor"] is None


async def test_a_history_is_narrowed_as_slack_writes_moments() -> None:
    """And private channels are not asked for where nobody asked."""
    async with vendor_server(Said(HISTORY)) as server, desk(server) as at:
        output = await at.ask("slack", "channel_history", {"channel": CHANNEL, "after": "2026-01-01T00:00:00Z"})
    assert server.asked[0].form == {"channel": CHANNEL, "oldest": "1767225600.000000", "limit": "20"}
    assert output.structured["next_cursor"] is not None
    assert "down" not in output.receipt


async def test_g11_a_post_that_is_answered_late_is_made_once() -> None:
    """Slack takes it, and answers after the call's time: nobody repeats it, and its outcome is unknown; a later look
    finds it.
    """
    posts: list[Mapping[str, str]] = []

    def slack(asked: Asked) -> Said:
        if asked.path == "/chat.postMessage":
            posts.append(asked.form)
            return Said(hangs=True)
        found = [{"ts": TS, "text": one["text"], "metadata": json.loads(one["metadata"])} for one in posts]
        return Said({"ok": True, "messages": found})

    async with vendor_server(slack) as server, desk(server) as at:
        operation = at.adapters["slack"].operations["post_message"]
        with pytest.raises(AdapterError) as caught:
            async with asyncio.timeout(10):
                await operation.invoke(at.invocation(operation.prepare(POST), seconds=0.3))
        assert len(posts) == 1
        finding = await at.reconcile("slack", "post_message", POST, since=at.clock.now() - 60)
    assert (caught.value.happened, caught.value.attempts) == (Happened.UNKNOWN, 1)
    assert finding.value == "done"
    assert len([one for one in server.asked if one.path == "/chat.postMessage"]) == 1


async def test_a_bot_token_that_is_refused_needs_a_person() -> None:
    """There is no other."""
    async with vendor_server(Said({"ok": False, "error": "token_revoked"})) as server, desk(server) as at:
        with pytest.raises(AdapterError) as caught:
            await at.ask("slack", "post_message", POST)
    assert (caught.value.kind, len(server.asked)) == (ErrorKind.NEEDS_AUTHORISATION, 1)


def rotating(asked: Asked) -> Said:
    """Slack, for an app whose tokens rotate: the first access token has just expired."""
    if asked.path == "/oauth.v2.access":
        given = asked.form["refresh_token"]
        number = "second" if given == "xoxe-1-first" else "third"
        token = f"xoxe.xoxb-1-of-{given}"
        return Said({"ok": True, "access_token": token, "refresh_token": f"xoxe-1-{number}", "expires_in": 43200})
    if asked.headers["Authorization"] == "Bearer xoxe.xoxb-1-of-xoxe-1-first":
        return Said({"ok": False, "error": "token_expired"})
    return Said(POSTED)


async def test_a_token_that_rotates_is_renewed_and_the_post_is_made_once() -> None:
    """With the refresh token that came with the last one; every secret of it is known."""
    async with vendor_server(rotating) as server:
        options = {"token_url": f"{server.url}/oauth.v2.access"}
        async with desk(server, credential=ROTATING, options=options) as at:
            assert at.adapters["slack"].check_target(at.target) == []
            output = await at.ask("slack", "post_message", POST)
    assert output.structured["ts"] == TS
    asked = [(one.path, one.headers.get("Authorization")) for one in server.asked]
    assert asked == [
        ("/oauth.v2.access", None),
        ("/chat.postMessage", "Bearer xoxe.xoxb-1-of-xoxe-1-first"),
        ("/oauth.v2.access", None),
        ("/chat.postMessage", "Bearer xoxe.xoxb-1-of-xoxe-1-second"),
    ]
    assert {"s3cr3t-s3cr3t", "xoxe-1-first", "xoxe-1-second", "xoxe-1-third"} <= set(at.learned)


async def test_a_refresh_token_that_is_gone_needs_a_person() -> None:
    """Nothing is posted then."""
    async with vendor_server(Said({"ok": False, "error": "invalid_refresh_token"})) as server:
        options = {"token_url": f"{server.url}/oauth.v2.access"}
        async with desk(server, credential=ROTATING, options=options) as at:
            with pytest.raises(AdapterError) as caught:
                await at.ask("slack", "post_message", POST)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)
    assert [one.path for one in server.asked] == ["/oauth.v2.access"]


@pytest.mark.parametrize(
    ("hosts", "options", "problems"),
    [
        (("slack.com", "files.slack.com"), {}, 0),
        (("slack.com",), {}, 0),
        ((), {}, 1),
        (("slack.com",), {"base_url": "http://slack.example/api"}, 2),
        (("slack.com",), {"token_url": "https://slack.com/api/oauth.v2.access"}, 0),
        (("slack.com",), {"token_url": "https://evil.example/"}, 1),
        (("slack.com",), {"workspace": "acme"}, 1),
    ],
)
def test_a_connection_names_where_its_token_goes(
    hosts: tuple[str, ...], options: dict[str, Any], problems: int
) -> None:
    """And nothing that is not known."""
    adapter = build_adapters(FakeClock())["slack"]
    assert len(adapter.check_target(Target(name="slack", hosts=hosts, options=options))) == problems


def test_what_writes_can_be_asked_about() -> None:
    """Every effect has a `reconcile`, none claims a key that Slack does not promise, and all need a token."""
    for operation in build_adapters(FakeClock())["slack"].operations.values():
        assert operation.needs_credential
        assert not operation.has_native_key
        assert (operation.reconcile is not None) is (operation.side_effect is not SideEffect.READ)
