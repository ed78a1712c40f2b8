"""Operations of Slack."""

from typing import Any

from fakes.cases.base import ApiCase, api, nothing
from fakes.vendor import Answer, Asked, Said

CHANNEL = "C0FA2M81QXR"
TS = "1767225600.000300"
USER = "U0B7K2L9QPN"
OTHER = "U0C3D81NNWA"

POSTED = {
    "ok": True,
    "channel": CHANNEL,
    "ts": TS,
    "message": {"type": "message", "subtype": "bot_message", "text": "Hello", "ts": TS, "bot_id": "B0F7DL2K1"},
}
CHANNELS = {
    "ok": True,
    "channels": [
        {
            "id": CHANNEL,
            "name": "incidents",
            "is_channel": True,
            "is_private": False,
            "is_archived": False,
            "is_member": True,
            "num_members": 12,
            "topic": {"value": "What is on fire", "creator": USER, "last_set": 1767225000},
            "purpose": {"value": "", "creator": "", "last_set": 0},
        },
        {"id": "C0FB11K2PLS", "name": "random", "is_private": False, "is_member": False},
    ],
    "response_metadata": {"next_cursor": "dGVhbTpDMDYxRkE1UEI="},
}
HISTORY = {
    "ok": True,
    "messages": [
        {"type": "message", "user": USER, "text": "Is it &lt;down&gt;, <@U0C3D81NNWA>?", "ts": "1767225500.000200"},
        {
            "type": "message",
            "bot_id": "B0F7DL2K1",
            "text": "",
            "ts": "1767225400.000100",
            "thread_ts": "1767225400.000100",
            "reply_count": 2,
            "edited": {"user": USER, "ts": "1767225450.000000"},
            "files": [{"id": "F0123ABCD"}],
        },
    ],
    "has_more": True,
    "response_metadata": {"next_cursor": "bmV4dF90czoxNTEyMTU0NDA5MDAwMjU2"},
}
FOUND = {
    "ok": True,
    "user": {
        "id": USER,
        "name": "ann",
        "deleted": False,
        "real_name": "Ann Example",
        "tz": "Europe/Berlin",
        "is_bot": False,
        "profile": {"title": "On call", "email": "ann@corp.example", "display_name": "ann"},
    },
}
OPENED = {"ok": True, "no_op": True, "already_open": True, "channel": {"id": "D069C7QFK11"}}
FILE = "F0A1B2C3D4E"


def says(value: Any) -> Answer:
    """The same whatever is asked."""
    return lambda _asked: Said(value)


def uploading(asked: Asked) -> Said:
    """The three steps of an upload."""
    if asked.path.endswith("/files.getUploadURLExternal"):
        return Said({"ok": True, "upload_url": f"http://{asked.headers['Host']}/upload/v1/abc", "file_id": FILE})
    if asked.path.startswith("/upload/"):
        return Said(body=b"OK - 5", headers={"Content-Type": "text/plain"})
    return Said({"ok": True, "files": [{"id": FILE, "title": "a.txt"}]})


def shares(asked: Asked) -> bool:
    """Until a file is shared nobody sees it."""
    return asked.path.endswith("/files.completeUploadExternal")


UPLOAD = {"channel": CHANNEL, "filename": "report.csv", "comment": "The numbers", "text": "a,b\n"}
CASES: tuple[ApiCase, ...] = (
    api("slack", "post_message", {"channel": CHANNEL, "text": "Hello", "mentions": [USER]}, says(POSTED)),
    api("slack", "reply_in_thread", {"channel": CHANNEL, "thread_ts": TS, "text": "Hello"}, says(POSTED)),
    api("slack", "update_message", {"channel": CHANNEL, "ts": TS, "text": "Hello"}, says(POSTED)),
    api("slack", "open_direct_message", {"users": [USER, OTHER]}, says(OPENED)),
    api("slack", "upload_file", UPLOAD, uploading, changes=shares),
    api("slack", "list_channels", {}, says(CHANNELS), changes=nothing),
    api("slack", "channel_history", {"channel": CHANNEL, "limit": 2}, says(HISTORY), changes=nothing),
    api("slack", "find_user_by_mail", {"email": "Ann@Corp.example"}, says(FOUND), changes=nothing),
)
