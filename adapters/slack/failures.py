"""What Slack's answers mean. It answers 200 to nearly everything: only `ok: true` is a success.

Every error that Slack documents for the methods that are used here stands in the tables. Slack also says that others
"can be returned in the case where the service is down or other unexpected factors affect processing": of a write that
ended with one of those nobody knows whether it was done.
"""

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.transport.replies import Reply, by_status

POSTING_SECONDS = 1.0
"""Slack takes about one message a second into a channel."""
METHOD_SECONDS = 60.0
"""Slack counts how often a method is called by the minute."""
_TOO_OFTEN = {"rate_limited": POSTING_SECONDS, "ratelimited": METHOD_SECONDS, "message_limit_exceeded": METHOD_SECONDS}
"""How long to wait when Slack does not say."""

_GROUPS = (
    (
        "invalid_auth not_authed token_revoked token_expired account_inactive",
        ErrorKind.NEEDS_AUTHORISATION,
        "Slack does not accept the connection's token; its operator has to authorise the connection again.",
    ),
    (
        "missing_scope no_permission not_allowed_token_type",
        ErrorKind.FORBIDDEN,
        "The connection's Slack app lacks a permission for this; an operator has to add the scope to the app.",
    ),
    (
        (
            "access_denied accesslimited app_access_restricted ekm_access_denied enterprise_is_restricted is_bot"
            " send_on_behalf_not_allowed team_access_not_granted two_factor_setup_required as_user_not_supported"
            " slack_connect_file_link_sharing_blocked slack_connect_canvas_sharing_blocked"
            " slack_connect_file_upload_sharing_blocked slack_connect_blocked_file_type"
        ),
        ErrorKind.FORBIDDEN,
        "The workspace's settings do not let the connection's Slack app do this; an operator can change them.",
    ),
    (
        "not_in_channel posting_to_channel_denied channel_is_limited_access",
        ErrorKind.FORBIDDEN,
        "The connection's Slack app is no member of this channel; somebody in the channel has to invite it first.",
    ),
    (
        (
            "restricted_action restricted_action_read_only_channel restricted_action_thread_only_channel"
            " restricted_action_non_threadable_channel restricted_action_thread_locked messages_tab_disabled"
            " cannot_reply_to_message cant_broadcast_message"
        ),
        ErrorKind.FORBIDDEN,
        "This channel or thread does not take this kind of message; choose another channel, or ask its members.",
    ),
    (
        "cant_update_message edit_window_closed block_mismatch",
        ErrorKind.FORBIDDEN,
        "The message cannot be changed: it is not the app's own, or too old. Reply in its thread instead.",
    ),
    (
        (
            "file_type_not_allowed blocked_file_type file_uploads_disabled file_uploads_except_images_disabled"
            " storage_limit_reached file_upload_size_restricted snippet_too_large file_share_limit_reached"
            " max_file_sharing_exceeded"
        ),
        ErrorKind.FORBIDDEN,
        "The workspace does not take this file, for its type or size; send a smaller or another one, or a message.",
    ),
    (
        "channel_not_found invalid_channel team_not_found",
        ErrorKind.NOT_FOUND,
        "Slack knows no such channel, or hides it from the app; look for its id in the list of channels.",
    ),
    (
        "message_not_found thread_not_found",
        ErrorKind.NOT_FOUND,
        "There is no such message in this channel; read the channel's history for its `ts`.",
    ),
    (
        "user_not_found users_not_found user_not_visible user_disabled",
        ErrorKind.NOT_FOUND,
        "Slack knows no such user, or one that is not active any more; check the id or the mail address.",
    ),
    (
        "file_not_found file_deleted file_is_deleted",
        ErrorKind.NOT_FOUND,
        "Slack does not have the uploaded file any more; upload it again.",
    ),
    (
        "is_archived is_inactive external_channel_migrating streaming_state_conflict",
        ErrorKind.CONFLICT,
        "The channel is archived or being moved, or the message is still being written; choose another channel.",
    ),
    (
        "msg_too_long msg_blocks_too_long attachment_payload_limit_exceeded",
        ErrorKind.INVALID,
        "The text is too long for Slack; shorten it, or upload it as a file.",
    ),
    ("no_text", ErrorKind.INVALID, "The message holds no text; write some."),
    (
        "invalid_cursor",
        ErrorKind.INVALID,
        "Slack does not know this page any more; leave `cursor` out to begin the list again.",
    ),
    (
        (
            "too_many_users not_enough_users users_list_not_supplied invalid_user_combination"
            " method_not_supported_for_channel_type channels_limit_exceeded"
        ),
        ErrorKind.INVALID,
        "Slack does not do this with these users or in this kind of conversation; check the ids.",
    ),
    (
        (
            "invalid_arguments invalid_limit invalid_types invalid_ts_latest invalid_ts_oldest missing_argument"
            " invalid_blocks invalid_blocks_format invalid_attachments too_many_attachments"
        ),
        ErrorKind.INVALID,
        "Slack does not take these arguments; check each against the tool's description.",
    ),
    (
        (
            "invalid_arg_name invalid_array_arg invalid_charset invalid_form_data invalid_post_type missing_post_type"
            " unknown_method method_deprecated deprecated_endpoint invalid_metadata_format invalid_metadata_schema"
            " metadata_must_be_sent_from_app metadata_too_large markdown_text_conflict unknown_snippet_type"
            " unknown_subtype alt_txt_too_large no_dual_broadcast_content_update"
        ),
        ErrorKind.INVALID,
        "Slack does not take this kind of request; trying again does not help. Tell an operator.",
    ),
    (
        "team_added_to_org org_login_required",
        ErrorKind.UNAVAILABLE,
        "The workspace is being moved and cannot be used now; try again later.",
    ),
)
_REFUSALS = {error: (kind, message) for errors, kind, message in _GROUPS for error in errors.split()}
"""Slack did nothing."""
_BROKEN = frozenset(
    {
        "fatal_error",
        "internal_error",
        "service_unavailable",
        "request_timeout",
        "update_failed",
        "file_update_failed",
        "unable_to_share_files",
    }
)
"""Slack failed on the way, and says of some that a part may have been done."""
_ONCE_BEFORE = frozenset({"duplicate_message_not_found", "duplicate_channel_not_found"})
"""A message with this `client_msg_id` was posted, and is not there now."""


def judge(reply: Reply) -> AdapterError | None:
    """The error that an answer is; None when Slack says that all is well."""
    if not 200 <= reply.status < 300:
        return by_status(reply, {})
    value = reply.value if isinstance(reply.value, dict) else {}
    if value.get("ok") is True:
        return None
    error = value.get("error")
    if value.get("ok") is not False or not isinstance(error, str):
        message = "Slack's answer does not say whether it did this."
        return reply.error(ErrorKind.MALFORMED, message, happened=unknown(reply))
    return _error(reply, error)


def unknown(reply: Reply) -> Happened:
    """Nothing for a call that only reads; of any other nobody knows."""
    return Happened.NO if reply.happened is Happened.NO else Happened.UNKNOWN


def _error(reply: Reply, error: str) -> AdapterError:
    # cases: 1. not now  2. a refusal  3. broke on the way  4. an error that nobody has described
    if error in _TOO_OFTEN:
        wait = _TOO_OFTEN[error] if reply.retry_after_seconds is None else reply.retry_after_seconds
        message = "Slack wants fewer calls of this kind; wait before the next one."
        return reply.error(ErrorKind.RATE_LIMITED, message, happened=Happened.NO, wait=wait)
    if error in _REFUSALS:
        kind, message = _REFUSALS[error]
        return reply.error(kind, message, happened=Happened.NO)
    if error in _BROKEN:
        message = "Slack failed while it worked on this; try again later."
        return reply.error(ErrorKind.UNAVAILABLE, message, happened=unknown(reply))
    if error in _ONCE_BEFORE:
        message = "This message was posted before and is not there any more. Do not post it again."
        return reply.error(ErrorKind.CONFLICT, message, happened=unknown(reply))
    message = "Slack refused this for a reason that is not known here; trying again may not help. Tell an operator."
    return reply.error(ErrorKind.INVALID, message, happened=unknown(reply))
