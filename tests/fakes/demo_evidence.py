"""The evidence of a demo in which everything held, to be spoiled piece by piece."""

import hashlib
from typing import Any

from gateway.cli.demo.checks import Evidence
from gateway.cli.demo.errand import COLLEAGUE, Label, Task, errand
from gateway.cli.demo.project import CREDENTIAL
from gateway.cli.demo.servers import Mail

Json = dict[str, Any]

ARTICLE = "The harbour's new rule was short. Pages are numbered and sewn in."
REVISION = "sha256:" + "a" * 64
TASKS = errand(article="http://127.0.0.1:1/harbour", moved="http://127.0.0.1:1/moved")


def good_evidence() -> Evidence:
    """Evidence on which every claim holds. Its parts are new each time."""
    calls = [_call(number, task) for number, task in enumerate(TASKS)]
    return Evidence(
        tasks=TASKS,
        tools=("announcement_send", "email_send", "office_time", "web_extract", "web_fetch"),
        calls=tuple(calls),
        agent_exit=0,
        mailbox=(Mail(recipients=(COLLEAGUE,), content=b"Hello", is_authenticated=True, is_encrypted=True),),
        trapped=0,
        lines=tuple(_line(call) for call in calls),
        chain_verified=True,
        chain_words="22 lines",
        secret_hits=(),
        control_hits=1,
        engine="embedded",
        counted=30,
        credential=CREDENTIAL,
        gateway_exit=0,
    )


def result(text: str = "", **more: Any) -> Json:
    """A result with one text."""
    return {"result": {"content": [], "structured": {"text": text}, "receipt": "Done."}} | more


def error(code: str, reason: str, **more: Any) -> Json:
    """An error."""
    whole = {"code": code, "reason": reason, "message": "No.", "issues": [], "policy_reasons": [], "retry_after_ms": 0}
    return {"error": whole | more}


_REASON = {"code": "recipient_not_granted", "message": "Not to him.", "advice": "Send to her."}
_ISSUE = {"path": "/to", "rule": "type", "message": "must be a list"}
_NOT_FOUND = error("not_found", "tool_not_found")
_OUTCOMES: dict[Label, Json] = {
    Label.FETCH: result(ARTICLE + " 842 partners"),
    Label.EXTRACT: result(ARTICLE),
    Label.MAIL: result(),
    Label.MAIL_AGAIN: result(),
    Label.STRANGER: error("permission_denied", "policy_denied", policy_reasons=[_REASON]),
    Label.APPROVAL: {"pending": {"approval_id": "a1", "message": "Wait.", "policy_reasons": []}},
    Label.HIDDEN: _NOT_FOUND,
    Label.UNKNOWN: _NOT_FOUND,
    Label.BAD_ARGUMENTS: error(
        "validation_failed",
        "arguments_invalid",
        issues=[
            _ISSUE,
            _ISSUE | {"path": "/text"},
            _ISSUE | {"path": "/subjekt"},
        ],
    ),
    Label.METADATA: error("permission_denied", "policy_denied"),
    Label.METADATA_SPELLED: error("permission_denied", "policy_denied"),
    Label.METADATA_IPV6: error("permission_denied", "address_refused"),
    Label.REDIRECT: error("permission_denied", "address_refused"),
    Label.BURST: result(),
    Label.AFTER_BURST: result(),
}
_LIMITED = error("rate_limited", "tool_rate", retry_after_ms=1500)


def _call(number: int, task: Task) -> Json:
    is_over = task.label is Label.BURST and TASKS[number - 3].label is Label.BURST
    outcome = _LIMITED if is_over else _OUTCOMES[task.label]
    effect = "effect-mail" if task.label in (Label.MAIL, Label.MAIL_AGAIN) else f"effect-{number}"
    head = {"call_id": f"call-{number}", "effect_id": effect, "replay": task.label is Label.MAIL_AGAIN}
    return {
        "label": task.label.value,
        "tool": task.tool,
        "value": head | outcome,
        "outcome_sha256": hashlib.sha256(repr(outcome).encode()).hexdigest(),
        "milliseconds": 3.0,
    }


def _line(call: Json) -> Json:
    value: Json = call["value"]
    line: Json = {"time": "2026-01-01T00:00:00.000000Z", "kind": "call", "call_id": value["call_id"], "tool": "t"}
    if "result" in value:
        line |= {"outcome": "ok", "decision": "allow", "policy_engine": "embedded", "policy_revision": REVISION}
    else:
        line |= {"outcome": "pending" if "pending" in value else value["error"]["code"]}
    if call["label"] == Label.MAIL.value:
        line["credential"] = CREDENTIAL
    return line | ({"replay": True} if value["replay"] else {})
