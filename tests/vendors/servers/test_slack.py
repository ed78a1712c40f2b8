"""Slack as `emulate` imitates it: what an operation did is there afterwards, for whoever asks.

The imitation takes no notice of `oldest` and `include_all_metadata`, and gives everything back.
"""

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from fakes.vendor import Desk, desk
from real.emulate import TOKENS, Emulate

from adapters.base import AdapterError, ErrorKind, Finding, Happened
from gateway.cli.demo import emulators

NO_CHANNEL, NOBODY, NO_MESSAGE = "C0NOCHANNEL", "U0NOBODYATALL", "1000000000.000001"
ONLY_WRITES = "xoxb-only-writes"


class Slack:
    """The adapter before the server, and the server itself for whoever looks at what became of it."""

    def __init__(self, at: Desk, url: str) -> None:
        self.at, self._url = at, url

    async def ask(self, operation: str, arguments: dict[str, Any], **more: Any) -> Any:
        """The structured output."""
        return (await self.at.ask("slack", operation, arguments, **more)).structured

    async def refused(self, operation: str, arguments: dict[str, Any]) -> AdapterError:
        """The error that it ends with, which did nothing."""
        with pytest.raises(AdapterError) as caught:
            await self.ask(operation, arguments)
        assert caught.value.happened is Happened.NO
        return caught.value

    async def itself(self, method: str, **form: str) -> Any:
        """What the server says without the adapter."""
        headers = {"Authorization": f"Bearer {TOKENS['slack']}"}
        async with aiohttp.request("POST", f"{self._url}/api/{method}", headers=headers, data=form) as response:
            said = await response.json()
        assert said["ok"] is True, said
        return said

    async def channel(self) -> str:
        """A new channel of which the app is a member."""
        made = await self.itself("conversations.create", name=f"c-{uuid.uuid4().hex[:12]}")
        return str(made["channel"]["id"])

    async def user(self, email: str = "bob@corp.example") -> str:
        """The id of a user who is there from the beginning."""
        return str((await self.itself("users.lookupByEmail", email=email))["user"]["id"])


@pytest.fixture
async def slack(emulate: Emulate) -> AsyncIterator[Slack]:
    """Slack."""
    async with desk(emulate.port("slack"), path="/api", credential=TOKENS["slack"]) as at:
        yield Slack(at, emulate.url("slack"))


@pytest.mark.proves("slack", "post_message", "success")
@pytest.mark.proves("slack", "channel_history", "success")
async def test_a_message_that_was_posted_is_in_the_channel(slack: Slack) -> None:
    """As it was written: `<!channel>` is words, and the one mention is the one that was named."""
    channel, bob = await slack.channel(), await slack.user()
    text = f"Build <!channel> 1 < 2, <@{bob}>"
    posted = await slack.ask("post_message", {"channel": channel, "text": text, "mentions": [bob]})
    (there,) = (await slack.ask("channel_history", {"channel": channel}))["messages"]
    assert posted == {"channel": channel, "ts": there["ts"]}
    assert there["text"] == f"Build &lt;!channel&gt; 1 &lt; 2, <@{bob}>"
    (itself,) = (await slack.itself("conversations.history", channel=channel))["messages"]
    assert (itself["unfurl_links"], itself["parse"]) == (False, "none")


async def test_a_message_that_was_posted_is_found_by_its_mark(slack: Slack) -> None:
    """And of another effect nobody knows: its message may have been deleted."""
    channel = await slack.channel()
    arguments = {"channel": channel, "text": "Hello"}
    await slack.ask("post_message", arguments, effect_id="eff-a")
    since = slack.at.clock.now() - 300
    found = await slack.at.reconcile("slack", "post_message", arguments, effect_id="eff-a", since=since)
    other = await slack.at.reconcile("slack", "post_message", arguments, effect_id="eff-b", since=since)
    assert (found, other) == (Finding.DONE, Finding.STILL_UNKNOWN)


@pytest.mark.proves("slack", "post_message", "failure")
@pytest.mark.proves("slack", "channel_history", "failure")
async def test_a_channel_that_is_not_there(slack: Slack) -> None:
    """Nothing is posted, and nothing read."""
    assert (await slack.refused("post_message", {"channel": NO_CHANNEL, "text": "x"})).kind is ErrorKind.NOT_FOUND
    assert (await slack.refused("channel_history", {"channel": NO_CHANNEL})).kind is ErrorKind.NOT_FOUND


async def test_a_channel_that_was_archived_takes_no_messages(slack: Slack) -> None:
    """It is a conflict, and not a matter of rights."""
    channel = await slack.channel()
    await slack.itself("conversations.archive", channel=channel)
    assert (await slack.refused("post_message", {"channel": channel, "text": "x"})).kind is ErrorKind.CONFLICT


@pytest.mark.proves("slack", "reply_in_thread", "success")
async def test_a_reply_is_in_the_thread_and_not_in_the_channel(slack: Slack) -> None:
    """And is found there by its mark."""
    channel = await slack.channel()
    first = await slack.ask("post_message", {"channel": channel, "text": "Who is on call?"})
    arguments = {"channel": channel, "thread_ts": first["ts"], "text": "Ann"}
    reply = await slack.ask("reply_in_thread", arguments, effect_id="eff-r")
    assert reply["thread_ts"] == first["ts"]
    (top,) = (await slack.ask("channel_history", {"channel": channel}))["messages"]
    assert (top["ts"], top["replies"]) == (first["ts"], 1)
    thread = (await slack.itself("conversations.replies", channel=channel, ts=first["ts"]))["messages"]
    assert [one["text"] for one in thread] == ["Who is on call?", "Ann"]
    since = slack.at.clock.now() - 300
    found = await slack.at.reconcile("slack", "reply_in_thread", arguments, effect_id="eff-r", since=since)
    assert found is Finding.DONE


@pytest.mark.proves("slack", "reply_in_thread", "failure")
async def test_a_reply_in_a_channel_that_is_not_there(slack: Slack) -> None:
    """Nothing is posted."""
    arguments = {"channel": NO_CHANNEL, "thread_ts": NO_MESSAGE, "text": "x"}
    assert (await slack.refused("reply_in_thread", arguments)).kind is ErrorKind.NOT_FOUND


@pytest.mark.proves("slack", "update_message", "success")
async def test_a_message_says_what_it_was_changed_to(slack: Slack) -> None:
    """Its preview shows both, its mark stays, and the change is found."""
    channel = await slack.channel()
    first = await slack.ask("post_message", {"channel": channel, "text": "Down"}, effect_id="eff-p")
    arguments = {"channel": channel, "ts": first["ts"], "text": "Up again"}
    operation = slack.at.adapters["slack"].operations["update_message"]
    assert operation.preview is not None
    shown = await operation.preview(slack.at.invocation(operation.prepare(arguments)))
    assert shown == {"was": {"text": "Down"}, "will_be": {"text": "Up again"}}
    assert await slack.ask("update_message", arguments) == first
    (there,) = (await slack.ask("channel_history", {"channel": channel}))["messages"]
    assert (there["text"], there["is_edited"]) == ("Up again", True)
    since = slack.at.clock.now() - 300
    posting = {"channel": channel, "text": "Down"}
    assert await slack.at.reconcile("slack", "update_message", arguments, since=since) is Finding.DONE
    found = await slack.at.reconcile("slack", "post_message", posting, effect_id="eff-p", since=since)
    assert found is Finding.DONE


@pytest.mark.proves("slack", "update_message", "failure")
async def test_a_message_that_is_not_there_is_not_changed(slack: Slack) -> None:
    """Of a channel that is."""
    arguments = {"channel": await slack.channel(), "ts": NO_MESSAGE, "text": "x"}
    assert (await slack.refused("update_message", arguments)).kind is ErrorKind.NOT_FOUND


@pytest.mark.proves("slack", "list_channels", "success")
@pytest.mark.proves("slack", "list_channels", "paging")
async def test_channels_are_listed_page_by_page(slack: Slack) -> None:
    """Each once, none that was archived, and private ones when they are asked for."""
    archived = await slack.channel()
    await slack.itself("conversations.archive", channel=archived)
    private = await slack.itself("conversations.create", name=f"p-{uuid.uuid4().hex[:12]}", is_private="true")
    found, cursor = [], None
    while True:
        arguments = {"limit": 2, "include_private": True} | ({} if cursor is None else {"cursor": cursor})
        page = await slack.ask("list_channels", arguments)
        assert len(page["channels"]) <= 2
        found += page["channels"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    names = [one["name"] for one in found]
    assert {"general", "random", "support"} <= set(names)
    assert len(names) == len(set(names)) >= 4
    assert archived not in {one["id"] for one in found}
    assert {one["id"]: one["is_private"] for one in found}[private["channel"]["id"]] is True
    everybodys = await slack.ask("list_channels", {"limit": 100})
    assert private["channel"]["id"] not in {one["id"] for one in everybodys["channels"]}


@pytest.fixture
def strict_port(emulate: Emulate, tmp_path: Path) -> Iterator[int]:
    """The port of another Slack of the same program, which looks at what a token may: the first takes any."""
    assert emulate.port("slack")
    part = {"users": [{"name": "ann"}], "tokens": [{"token": ONLY_WRITES, "user": "ann", "scopes": ["chat:write"]}]}
    with emulators.emulate(tmp_path, {"slack": {**part, "strict_scopes": True}}) as running:
        yield running.ports["slack"]


@pytest.mark.proves("slack", "list_channels", "failure")
async def test_a_token_without_the_scope_lists_no_channels(strict_port: int) -> None:
    """An operator can add it; neither another token nor a retry is of use."""
    async with desk(strict_port, path="/api", credential=ONLY_WRITES) as at:
        with pytest.raises(AdapterError) as caught:
            await at.ask("slack", "list_channels", {})
    assert (caught.value.kind, caught.value.attempts) == (ErrorKind.FORBIDDEN, 1)


@pytest.mark.proves("slack", "channel_history", "paging")
async def test_a_history_is_read_page_by_page(slack: Slack) -> None:
    """Newest first, each message once."""
    channel = await slack.channel()
    for number in range(5):
        await slack.ask("post_message", {"channel": channel, "text": f"m{number}"}, effect_id=f"eff-{number}")
    found, cursor = [], None
    while True:
        arguments = {"channel": channel, "limit": 2} | ({} if cursor is None else {"cursor": cursor})
        page = await slack.ask("channel_history", arguments)
        found += [one["text"] for one in page["messages"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == ["m4", "m3", "m2", "m1", "m0"]


@pytest.mark.proves("slack", "find_user_by_mail", "success")
async def test_a_user_is_found_by_mail_address(slack: Slack) -> None:
    """Whatever capitals it is written with."""
    found = await slack.ask("find_user_by_mail", {"email": "Bob@Corp.example"})
    assert (found["id"], found["name"], found["is_active"]) == (await slack.user(), "bob", True)


@pytest.mark.proves("slack", "find_user_by_mail", "failure")
async def test_nobody_has_a_mail_address_that_is_not_there(slack: Slack) -> None:
    """It is not found, and nobody is invented."""
    assert (await slack.refused("find_user_by_mail", {"email": "eve@corp.example"})).kind is ErrorKind.NOT_FOUND


@pytest.mark.proves("slack", "open_direct_message", "success")
async def test_a_direct_message_is_opened_once(slack: Slack) -> None:
    """A second time it is the same; and a message can be posted into it."""
    bob = await slack.user()
    first = await slack.ask("open_direct_message", {"users": [bob]})
    second = await slack.ask("open_direct_message", {"users": [bob]})
    assert (second["channel"], second["was_open"], first["users"]) == (first["channel"], True, [bob])
    since = slack.at.clock.now() - 300
    assert await slack.at.reconcile("slack", "open_direct_message", {"users": [bob]}, since=since) is Finding.DONE
    await slack.ask("post_message", {"channel": first["channel"], "text": "Hello"})
    history = await slack.ask("channel_history", {"channel": first["channel"]})
    assert "Hello" in [one["text"] for one in history["messages"]]


@pytest.mark.proves("slack", "open_direct_message", "failure")
async def test_a_direct_message_with_nobody(slack: Slack) -> None:
    """It is not opened."""
    error = await slack.refused("open_direct_message", {"users": [NOBODY]})
    assert (error.kind, error.happened) == (ErrorKind.NOT_FOUND, Happened.NO)


@pytest.mark.proves("slack", "upload_file", "success")
async def test_a_file_that_was_uploaded_is_in_the_channel(slack: Slack) -> None:
    """Byte for byte, with its words, and is found by the mark of those."""
    channel = await slack.channel()
    arguments = {"channel": channel, "filename": "report.csv", "comment": "1 < 2", "text": "a,b\nä,ö\n"}
    uploaded = await slack.ask("upload_file", arguments, effect_id="eff-u")
    file = (await slack.itself("files.info", file=uploaded["file"]))["file"]
    assert (file["name"], file["size"]) == ("report.csv", uploaded["size_bytes"])
    (message,) = (await slack.itself("conversations.history", channel=channel))["messages"]
    assert [one["id"] for one in message["files"]] == [uploaded["file"]]
    assert message["blocks"][0]["text"]["text"] == "1 &lt; 2"
    since = slack.at.clock.now() - 300
    found = await slack.at.reconcile("slack", "upload_file", arguments, effect_id="eff-u", since=since)
    other = await slack.at.reconcile("slack", "upload_file", arguments, effect_id="eff-v", since=since)
    assert (found, other) == (Finding.DONE, Finding.STILL_UNKNOWN)


@pytest.mark.proves("slack", "upload_file", "failure")
async def test_a_file_for_a_channel_that_is_not_there_is_not_shared(slack: Slack) -> None:
    """Although it was put where Slack wanted it."""
    arguments = {"channel": NO_CHANNEL, "filename": "a.txt", "comment": "x", "text": "a"}
    assert (await slack.refused("upload_file", arguments)).kind is ErrorKind.NOT_FOUND
