"""The evidence of a demo in which everything held, to be spoiled piece by piece."""

import hashlib
from typing import Any

from gateway.cli.demo.errand import ANNOUNCEMENT, COLLEAGUE, Label, Task, Way, errand
from gateway.cli.demo.evidence import Evidence
from gateway.cli.demo.person import AGENTS_REASON, REASON, STOP_REASON, STOPPED, Typed
from gateway.cli.demo.project import AGENT, CREDENTIAL, PERSON
from gateway.cli.demo.servers import Mail

Json = dict[str, Any]

ARTICLE = "The harbour's new rule was short. Pages are numbered and sewn in."
REVISION = "sha256:" + "a" * 64
APPROVAL = "apr_1"
DIGEST = "sha256:" + "d" * 64
TASKS = errand(article="http://127.0.0.1:1/harbour", moved="http://127.0.0.1:1/moved")


def good_evidence() -> Evidence:
    """Evidence on which every claim holds. Its parts are new each time."""
    answers = [_answer(number, task) for number, task in enumerate(TASKS)]
    calls = [answer for answer in answers if answer["kind"] == Way.CALL]
    parked = next(call["value"] for call in calls if call["label"] == Label.APPROVAL)
    return Evidence(
        says=tuple((task.label.value, task.says) for task in TASKS),
        tools=("announcement_send", "email_send", "office_time", "web_extract", "web_fetch"),
        answers=tuple(answers),
        typed=good_typed(),
        done_before=0,
        control_mode=0o700,
        agent_exit=0,
        mailbox=(good_mail("Hello"), good_mail(ANNOUNCEMENT)),
        trapped=0,
        lines=(*map(_line, calls), _decision(), _execution(parked), _admin()),
        chain_verified=True,
        chain_words="26 lines",
        uncovered=0,
        secret_hits=(),
        searched=frozenset({"state/store.db", "state/store.db-wal"}),
        control_hits=1,
        engine="embedded",
        counted=30,
        credential=CREDENTIAL,
        gateway_exit=0,
    )


def good_mail(subject: str, *to: str) -> Mail:
    """A mail that was sent as it should be; to the colleague when nobody is named."""
    content = f"Subject: {subject}\r\n\r\nHello".encode()
    return Mail(recipients=to or (COLLEAGUE,), content=content, is_authenticated=True, is_encrypted=True)


def good_typed() -> tuple[Typed, ...]:
    """What was typed: the agent is not served, the person lists, looks and approves."""
    found = {
        "approval_id": APPROVAL,
        "tool": "announcement_send",
        "agent": AGENT,
        "state": "open",
        "arguments_digest": DIGEST,
        "reasons": ["high_risk: This tool can do great harm."],
        "decisions": [],
    }
    seen = found | {"arguments": {"subject": ANNOUNCEMENT}}
    decided = seen | {"state": "approved", "decisions": [{"reason": REASON}]}
    refused = "what answers at unix:/g does not serve this; name the --socket or --address of another listener"
    stop = {"scope": "tool", "name": STOPPED, "reason": STOP_REASON}
    approve = ("approvals", "approve", APPROVAL, "--reason")
    return (
        Typed(who=AGENT, words=(*approve, AGENTS_REASON), exit_code=2, told={}, complaint=refused),
        Typed(who=PERSON, words=("approvals", "list"), exit_code=0, told={"approvals": [found]}),
        Typed(who=PERSON, words=("approvals", "show", APPROVAL), exit_code=0, told=seen),
        Typed(who=PERSON, words=("stop", "set", "tool", STOPPED), exit_code=0, told={"stop": stop}),
        Typed(who=PERSON, words=(*approve, REASON), exit_code=0, told=decided),
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
    Label.EXTRACT_MORE: error("budget_exceeded", "cap_reached"),
    Label.MAIL: result(),
    Label.MAIL_AGAIN: result(),
    Label.STRANGER: error("permission_denied", "policy_denied", policy_reasons=[_REASON]),
    Label.APPROVAL: {"pending": {"approval_id": APPROVAL, "message": "Wait.", "policy_reasons": []}},
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
    Label.FOLLOWED: result(),
    Label.ASKED: result(),
    Label.APPROVED_AGAIN: result(),
    Label.STOPPED: error("permission_denied", "stopped"),
}
_LIMITED = error("rate_limited", "tool_rate", retry_after_ms=1500)


_EFFECTS = {Label.MAIL: "mail", Label.MAIL_AGAIN: "mail", Label.APPROVAL: "all", Label.APPROVED_AGAIN: "all"}


def _answer(number: int, task: Task) -> Json:
    is_over = task.label is Label.BURST and TASKS[number - 3].label is Label.BURST
    outcome = _LIMITED if is_over else _OUTCOMES[task.label]
    is_replay = task.label in (Label.MAIL_AGAIN, Label.APPROVED_AGAIN)
    return {
        "kind": task.way.value,
        "label": task.label.value,
        "tool": task.tool,
        "value": {"call_id": f"call-{number}", "effect_id": _effect(number, task), "replay": is_replay} | outcome,
        "outcome_sha256": hashlib.sha256(repr(outcome).encode()).hexdigest(),
        "milliseconds": 3.0,
    }


def _effect(number: int, task: Task) -> str:
    return "effect-" + _EFFECTS.get(task.about or task.label, str(number))


def _decision() -> Json:
    return {
        "kind": "decision",
        "call_id": "decision-1",
        "principal": PERSON,
        "principal_kind": "human",
        "tool": "announcement_send",
        "decision": "approve",
        "note": REASON,
        "approval_id": APPROVAL,
        "arguments_digest": DIGEST,
        "policy_revision": "that of the asking",
        "outcome": "ok",
    }


def _admin() -> Json:
    return {
        "kind": "admin",
        "call_id": "admin-1",
        "principal": PERSON,
        "decision": "allow",
        "note": STOP_REASON,
        "outcome": "ok",
    }


def _execution(parked: Json) -> Json:
    return {
        "kind": "execution",
        "call_id": parked["call_id"],
        "effect_id": parked["effect_id"],
        "tool": "announcement_send",
        "decision": "require_approval",
        "policy_engine": "embedded",
        "policy_revision": REVISION,
        "approval_id": APPROVAL,
        "arguments_digest": DIGEST,
        "credential": CREDENTIAL,
        "outcome": "ok",
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
