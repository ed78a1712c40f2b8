"""Slack: messages, channels, people and files, through the Web API.

The credential is a bot token (`xoxb-…`), or, for an app whose tokens rotate, the JSON of `client_id`, `client_secret`
and `refresh_token`. A connection's `hosts` name slack.com, and files.slack.com too if files are to be uploaded.

The app needs chat:write; channels:read and channels:history, with groups:* and im:* where it works in private channels
and direct messages, to list and read them and to find out what became of a message; im:write (mpim:write), files:write
and users:read.email for the operations that they are named after.
"""

from collections.abc import Mapping
from functools import partial

from adapters.base import Invocation, Operation, Output, SideEffect, Target
from adapters.slack import answers, arguments
from adapters.slack.failures import judge
from adapters.slack.limits import pauses
from adapters.slack.marks import message_marks
from adapters.slack.methods import Form, Methods
from adapters.slack.reconcile import Reconcile, preview_update
from adapters.slack.uploads import UploadArguments, prepare_upload, upload
from adapters.slack.webhooks import SlackWebhooks
from adapters.transport.api import ApiAdapter, ApiParts, Vendor
from adapters.transport.authorisation import Bearer
from adapters.transport.cursors import cursor_to
from adapters.transport.oauth import ByForm, OAuth
from adapters.transport.operations import changing, reading
from adapters.transport.refresh import Refresh, is_oauth_credential
from adapters.transport.token_endpoint import OPTION, token_url_problems

BASE_URL = "https://slack.com/api"
TOKEN_URL = "https://slack.com/api/oauth.v2.access"  # noqa: S105 - a place and no password


class SlackAdapter(ApiAdapter):
    """Slack."""

    name = "slack"
    webhooks = SlackWebhooks()

    def __init__(self, parts: ApiParts) -> None:
        rotating = OAuth(parts.tokens, Refresh(parts.transport, parts.clock, TOKEN_URL))
        authorises = ByForm(is_oauth_credential, rotating, Bearer())
        vendor = Vendor(base_url=BASE_URL, authorises=authorises, judge=judge, pauses=pauses)
        super().__init__(vendor, parts, options=(OPTION,))
        self._methods = Methods(self.api)
        self._reconcile = Reconcile(self._methods, parts.clock)
        operations = (*self._reads(), *self._sends(), *self._changes())
        self.operations: Mapping[str, Operation] = {one.name: one for one in operations}

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a connection to Slack; empty when all is well."""
        problems = super().check_target(target)
        return problems + (token_url_problems(target, TOKEN_URL) if OPTION in target.options else [])

    def _reads(self) -> list[Operation]:
        return [
            reading("list_channels", arguments.ChannelsArguments, arguments.prepare_channels, self._list_channels),
            reading("channel_history", arguments.HistoryArguments, arguments.prepare_history, self._channel_history),
            reading("find_user_by_mail", arguments.FindUserArguments, arguments.prepare_find_user, self._find_user),
        ]

    def _sends(self) -> list[Operation]:
        send, known = partial(changing, side_effect=SideEffect.SEND), self._reconcile
        put_up = partial(upload, self._methods, self._transport)
        return [
            send("post_message", arguments.PostArguments, arguments.prepare_post, self._post, known.posted),
            send("reply_in_thread", arguments.ReplyArguments, arguments.prepare_reply, self._reply, known.replied),
            send("upload_file", UploadArguments, prepare_upload, put_up, known.uploaded),
        ]

    def _changes(self) -> list[Operation]:
        known = self._reconcile
        return [
            changing(
                "update_message",
                arguments.UpdateArguments,
                arguments.prepare_update,
                self._update,
                known.updated,
                preview=partial(preview_update, self._methods),
            ),
            changing("open_direct_message", arguments.OpenArguments, arguments.prepare_open, self._open, known.opened),
        ]

    async def _list_channels(self, invocation: Invocation) -> Output:
        asked = invocation.arguments
        form: Form = {
            "types": "public_channel,private_channel" if asked["include_private"] else "public_channel",
            "exclude_archived": True,
            "limit": asked["limit"],
            "cursor": asked["page"],
        }
        reply = await self._methods.read(invocation, "conversations.list", form)
        found = answers.channels(reply)
        cursor = cursor_to(answers.next_page(reply), "list_channels", asked)
        structured = {"channels": found, "next_cursor": cursor}
        return Output(structured=structured, receipt=f"Listed {len(found)} channels.", attempts=reply.attempts)

    async def _channel_history(self, invocation: Invocation) -> Output:
        asked = invocation.arguments
        form: Form = {
            "channel": asked["channel"],
            "oldest": asked["oldest"],
            "latest": asked["latest"],
            "limit": asked["limit"],
            "cursor": asked["page"],
        }
        reply = await self._methods.read(invocation, "conversations.history", form)
        found = answers.messages(reply)
        cursor = cursor_to(answers.next_page(reply), "channel_history", asked)
        structured = {"messages": found, "next_cursor": cursor}
        receipt = f"Read {len(found)} messages of {asked['channel']}."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)

    async def _find_user(self, invocation: Invocation) -> Output:
        reply = await self._methods.read(invocation, "users.lookupByEmail", {"email": invocation.arguments["email"]})
        found = answers.user(reply)
        return Output(structured=found, receipt=f"Found the user {found['id']}.", attempts=reply.attempts)

    async def _post(self, invocation: Invocation) -> Output:
        return await self._posted(invocation, {})

    async def _reply(self, invocation: Invocation) -> Output:
        return await self._posted(invocation, {"thread_ts": invocation.arguments["thread_ts"]})

    async def _posted(self, invocation: Invocation, where: Form) -> Output:
        form = {**_message(invocation), **_NOTHING_FETCHED, **where, **message_marks(invocation.effect_id)}
        reply = await self._methods.write(invocation, "chat.postMessage", form)
        there = {**answers.posted(reply), **where}
        return Output(structured=there, receipt=_receipt("Posted", there), attempts=reply.attempts)

    async def _update(self, invocation: Invocation) -> Output:
        # No marks: they would take the place of those by which the message itself is found.
        form = {**_message(invocation), "ts": invocation.arguments["ts"]}
        reply = await self._methods.write(invocation, "chat.update", form)
        there = answers.posted(reply)
        return Output(structured=there, receipt=_receipt("Changed", there), attempts=reply.attempts)

    async def _open(self, invocation: Invocation) -> Output:
        users = invocation.arguments["users"]
        reply = await self._methods.write(invocation, "conversations.open", {"users": ",".join(users)})
        found = answers.opened(reply)
        receipt = f"The direct message with {', '.join(users)} is {found['channel']}."
        return Output(structured={**found, "users": users}, receipt=receipt, attempts=reply.attempts)


_NOTHING_FETCHED: Form = {"unfurl_links": False, "unfurl_media": False}
"""Slack opens no link in a text to show what is there: a URL could carry out what an agent was told by a stranger."""


def _message(invocation: Invocation) -> Form:
    """The text as `prepare` wrote it, with nothing in it that Slack would make out by itself."""
    asked = invocation.arguments
    return {"channel": asked["channel"], "text": asked["text"], "parse": "none", "link_names": False}


def _receipt(done: str, there: Mapping[str, object]) -> str:
    return f"{done} a message in {there['channel']} (ts {there['ts']})."
