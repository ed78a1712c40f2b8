"""Only `ok: true` is a success, and every error means something that an agent can act on."""

from typing import Any

import pytest
from fakes.vendor import Said, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.slack.failures import judge
from adapters.transport.replies import Reply

NO, UNKNOWN = Happened.NO, Happened.UNKNOWN
REFUSED = {
    "invalid_auth": ErrorKind.NEEDS_AUTHORISATION,
    "not_authed": ErrorKind.NEEDS_AUTHORISATION,
    "token_revoked": ErrorKind.NEEDS_AUTHORISATION,
    "token_expired": ErrorKind.NEEDS_AUTHORISATION,
    "account_inactive": ErrorKind.NEEDS_AUTHORISATION,
    "missing_scope": ErrorKind.FORBIDDEN,
    "not_allowed_token_type": ErrorKind.FORBIDDEN,
    "ekm_access_denied": ErrorKind.FORBIDDEN,
    "two_factor_setup_required": ErrorKind.FORBIDDEN,
    "not_in_channel": ErrorKind.FORBIDDEN,
    "restricted_action": ErrorKind.FORBIDDEN,
    "restricted_action_thread_locked": ErrorKind.FORBIDDEN,
    "cant_update_message": ErrorKind.FORBIDDEN,
    "edit_window_closed": ErrorKind.FORBIDDEN,
    "file_uploads_disabled": ErrorKind.FORBIDDEN,
    "storage_limit_reached": ErrorKind.FORBIDDEN,
    "channel_not_found": ErrorKind.NOT_FOUND,
    "message_not_found": ErrorKind.NOT_FOUND,
    "thread_not_found": ErrorKind.NOT_FOUND,
    "user_not_found": ErrorKind.NOT_FOUND,
    "users_not_found": ErrorKind.NOT_FOUND,
    "file_not_found": ErrorKind.NOT_FOUND,
    "is_archived": ErrorKind.CONFLICT,
    "is_inactive": ErrorKind.CONFLICT,
    "msg_too_long": ErrorKind.INVALID,
    "no_text": ErrorKind.INVALID,
    "too_many_users": ErrorKind.INVALID,
    "invalid_cursor": ErrorKind.INVALID,
    "invalid_arguments": ErrorKind.INVALID,
    "unknown_method": ErrorKind.INVALID,
    "org_login_required": ErrorKind.UNAVAILABLE,
}


def reply(value: Any, *, status: int = 200, happened: Happened = Happened.YES, wait: float | None = None) -> Reply:
    """An answer; to a write when nothing else is said."""
    return Reply(status=status, headers={}, value=value, happened=happened, retry_after_seconds=wait)


def judged(value: Any, **more: Any) -> AdapterError:
    """The error that it is."""
    error = judge(reply(value, **more))
    assert error is not None
    return error


def test_ok_is_a_success() -> None:
    """Whatever else is there."""
    assert judge(reply({"ok": True, "warning": "missing_charset"})) is None


@pytest.mark.parametrize("ok", [1, "true", None, [True], "ok"])
def test_what_is_not_true_is_no_success(ok: Any) -> None:
    """Of a write nobody knows what came of it."""
    error = judged({"ok": ok})
    assert (error.kind, error.happened) == (ErrorKind.MALFORMED, UNKNOWN)


@pytest.mark.parametrize("value", [None, [], "ok", {}, {"ok": False}, {"ok": False, "error": None}])
def test_an_answer_that_says_nothing_is_malformed(value: Any) -> None:
    """A read did nothing, of a write nobody knows."""
    assert (judged(value).kind, judged(value).happened) == (ErrorKind.MALFORMED, UNKNOWN)
    assert judged(value, happened=NO).happened is NO


@pytest.mark.parametrize(("error", "kind"), REFUSED.items())
def test_a_refusal_did_nothing(error: str, kind: ErrorKind) -> None:
    """And says what can be done about it, in our words."""
    found = judged({"ok": False, "error": error})
    assert (found.kind, found.happened, found.retry_after_seconds) == (kind, NO, None)
    assert error not in found.message


@pytest.mark.parametrize("error", ["fatal_error", "internal_error", "service_unavailable", "request_timeout"])
def test_what_broke_on_the_way_may_have_been_done(error: str) -> None:
    """Slack says so itself of the first two; a read did nothing."""
    assert (judged({"ok": False, "error": error}).kind, judged({"ok": False, "error": error}).happened) == (
        ErrorKind.UNAVAILABLE,
        UNKNOWN,
    )
    assert judged({"ok": False, "error": error}, happened=NO).happened is NO


def test_an_error_that_nobody_described_leaves_a_write_unknown() -> None:
    """Slack says that such errors come when "unexpected factors affect processing"."""
    error = judged({"ok": False, "error": "brand_new"})
    assert (error.kind, error.happened) == (ErrorKind.INVALID, UNKNOWN)
    assert "brand_new" not in error.message
    assert judged({"ok": False, "error": "brand_new"}, happened=NO).happened is NO


def test_a_message_that_was_posted_before_is_a_conflict() -> None:
    """Slack knew its `client_msg_id`."""
    error = judged({"ok": False, "error": "duplicate_message_not_found"})
    assert (error.kind, error.happened) == (ErrorKind.CONFLICT, UNKNOWN)


@pytest.mark.parametrize(("error", "wait"), [("ratelimited", 60.0), ("rate_limited", 1.0)])
def test_a_limit_has_a_wait(error: str, wait: float) -> None:
    """Slack's own, or that of its kind of limit."""
    assert judged({"ok": False, "error": error}).retry_after_seconds == wait
    assert judged({"ok": False, "error": error}, wait=7.0).retry_after_seconds == 7.0
    assert judged({"ok": False, "error": error}).happened is NO


def test_a_status_that_is_no_success_is_judged_by_itself() -> None:
    """Whatever the body says."""
    assert judged({"ok": True}, status=503, happened=UNKNOWN).kind is ErrorKind.UNAVAILABLE
    assert judged({"ok": True}, status=429, happened=NO).kind is ErrorKind.RATE_LIMITED


G18 = (
    ({"ok": False, "error": "ratelimited"}, ErrorKind.RATE_LIMITED, NO),
    ({"ok": False, "error": "invalid_auth"}, ErrorKind.NEEDS_AUTHORISATION, NO),
    ({"ok": False, "error": "token_revoked"}, ErrorKind.NEEDS_AUTHORISATION, NO),
    ({"ok": False, "error": "account_inactive"}, ErrorKind.NEEDS_AUTHORISATION, NO),
    ({"ok": False, "error": "missing_scope"}, ErrorKind.FORBIDDEN, NO),
    ({"ok": False, "error": "not_in_channel"}, ErrorKind.FORBIDDEN, NO),
    ({"ok": False, "error": "channel_not_found"}, ErrorKind.NOT_FOUND, NO),
    ({"ok": False, "error": "is_archived"}, ErrorKind.CONFLICT, NO),
    ({"ok": False, "error": "msg_too_long"}, ErrorKind.INVALID, NO),
    ({"ok": False, "error": "no_text"}, ErrorKind.INVALID, NO),
    ({"ok": False, "error": "restricted_action"}, ErrorKind.FORBIDDEN, NO),
    ({"ok": False, "error": "internal_error"}, ErrorKind.UNAVAILABLE, UNKNOWN),
    ({"ok": False}, ErrorKind.MALFORMED, UNKNOWN),
    ({}, ErrorKind.MALFORMED, UNKNOWN),
    (b"", ErrorKind.MALFORMED, UNKNOWN),
    (b"<html><body>Sign in to the network</body></html>", ErrorKind.MALFORMED, UNKNOWN),
)
POST = {"channel": "C0FA2M81QXR", "text": "Hello"}
EVERY = {
    "post_message": POST,
    "reply_in_thread": {**POST, "thread_ts": "1767225600.000300"},
    "update_message": {**POST, "ts": "1767225600.000300"},
    "open_direct_message": {"users": ["U0B7K2L9QPN"]},
    "list_channels": {},
    "channel_history": {"channel": "C0FA2M81QXR"},
    "find_user_by_mail": {"email": "ann@corp.example"},
    "upload_file": {"channel": "C0FA2M81QXR", "filename": "a.txt", "comment": "x", "text": "a"},
}
READS = {"list_channels", "channel_history", "find_user_by_mail", "upload_file"}
"""Or that begin with something that nobody sees."""


@pytest.mark.parametrize("operation", EVERY)
@pytest.mark.parametrize(("value", "kind", "happened"), G18, ids=lambda one: str(one)[:60])
async def test_g18_an_error_inside_a_200_is_never_a_success(
    operation: str, value: Any, kind: ErrorKind, happened: Happened
) -> None:
    """Of every operation, each in its right class, and asked for once."""
    said = Said(body=value, headers={"Content-Type": "text/html"}) if isinstance(value, bytes) else Said(value)
    async with vendor_server(said) as server, desk(server) as at:
        with pytest.raises(AdapterError) as caught:
            await at.ask("slack", operation, EVERY[operation])
        assert caught.value.kind is kind
        assert caught.value.happened is (NO if operation in READS else happened)
        assert (len(server.asked), caught.value.attempts) == (1, 1)
