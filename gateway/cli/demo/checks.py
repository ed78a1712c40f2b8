"""What has to hold for the first scene to be a success: pure functions over the evidence, one claim each."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from gateway.cli.demo import approval_checks, record_checks
from gateway.cli.demo.errand import ANNOUNCEMENT, BURST, COLLEAGUE, Label
from gateway.cli.demo.evidence import Evidence
from gateway.cli.demo.record import outcome_of
from gateway.cli.demo.record_checks import Check, judged

Json = dict[str, Any]

SEEN_TOOLS = {"announcement_send", "email_send", "office_time", "web_extract", "web_fetch"}


def run_checks(evidence: Evidence) -> tuple[Check, ...]:
    """Every claim, judged. A claim whose evidence is malformed does not hold."""
    return judged(_CLAIMS, evidence)


def _tools_listed(evidence: Evidence) -> tuple[bool, str]:
    return set(evidence.tools) == SEEN_TOOLS, f"{len(evidence.tools)} tools"


def _page_fetched(evidence: Evidence) -> tuple[bool, str]:
    return _holds_text(evidence.one(Label.FETCH), "The harbour's new rule was short")


def _article_extracted(evidence: Evidence) -> tuple[bool, str]:
    value = evidence.one(Label.EXTRACT)
    found, saw = _holds_text(value, "Pages are numbered and sewn in")
    has_clutter, _ = _holds_text(value, "842 partners")
    return found and not has_clutter, "the cookie banner, too" if has_clutter else saw


def _capped(evidence: Evidence) -> tuple[bool, str]:
    error = evidence.one(Label.EXTRACT_MORE)["error"]
    return (error["code"], error["reason"]) == ("budget_exceeded", "cap_reached"), str(error["reason"])


def _holds_text(value: Json, text: str) -> tuple[bool, str]:
    result = value["result"]
    told = " ".join(" ".join(_strings(part)) for part in (result["content"], result["structured"]))
    return text in " ".join(told.split()), f"{len(told)} characters"


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in _strings(item)]
    return [text for item in value for text in _strings(item)] if isinstance(value, list) else []


def _mailed_once(evidence: Evidence) -> tuple[bool, str]:
    is_sent = outcome_of(evidence.one(Label.MAIL)) == "ok"
    unasked = [mail.recipients for mail in evidence.mailbox if mail.subject != ANNOUNCEMENT]
    return is_sent and unasked == [(COLLEAGUE,)], f"{len(unasked)} in the mailbox"


def _mailed_safely(evidence: Evidence) -> tuple[bool, str]:
    is_safe = bool(evidence.mailbox) and all(mail.is_authenticated and mail.is_encrypted for mail in evidence.mailbox)
    return is_safe, "signed in over TLS" if is_safe else "not signed in, or not encrypted"


def _replayed(evidence: Evidence) -> tuple[bool, str]:
    first, again = evidence.one(Label.MAIL), evidence.one(Label.MAIL_AGAIN)
    is_same = first["result"] == again["result"] and first["effect_id"] == again["effect_id"]
    is_replay = again["replay"] is True and first["replay"] is False and first["call_id"] != again["call_id"]
    return is_same and is_replay, outcome_of(again)


def _stranger_denied(evidence: Evidence) -> tuple[bool, str]:
    error = evidence.one(Label.STRANGER)["error"]
    reasons = error["policy_reasons"]
    can_act = bool(reasons) and all(reason["code"] and reason["message"] and reason["advice"] for reason in reasons)
    return error["reason"] == "policy_denied" and can_act, _words(error)


def _absence_hidden(evidence: Evidence) -> tuple[bool, str]:
    calls = {call["label"]: call for call in evidence.calls}
    hidden, unknown = calls[Label.HIDDEN], calls[Label.UNKNOWN]
    is_refused = hidden["value"]["error"]["reason"] == unknown["value"]["error"]["reason"] == "tool_not_found"
    is_same = hidden["outcome_sha256"] == unknown["outcome_sha256"]
    return is_refused and is_same, "the same bytes" if is_same else "different bytes"


def _arguments_named(evidence: Evidence) -> tuple[bool, str]:
    error = evidence.one(Label.BAD_ARGUMENTS)["error"]
    issues = {(issue["path"], issue["rule"]) for issue in error["issues"]}
    is_told = len(issues) >= 3 and all(issue["message"] for issue in error["issues"])
    return error["code"] == "validation_failed" and is_told, f"{len(issues)} issues, each with its field"


def _metadata_refused(evidence: Evidence) -> tuple[bool, str]:
    labels = (Label.METADATA, Label.METADATA_SPELLED, Label.METADATA_IPV6)
    reasons = [evidence.one(label)["error"]["reason"] for label in labels]
    return set(reasons) <= {"policy_denied", "address_refused"}, ", ".join(reasons)


def _redirect_refused(evidence: Evidence) -> tuple[bool, str]:
    error = evidence.one(Label.REDIRECT)["error"]
    return error["reason"] == "address_refused" and evidence.trapped == 0, f"{evidence.trapped} connections there"


def _burst_limited(evidence: Evidence) -> tuple[bool, str]:
    answers = evidence.of(Label.BURST)
    outcomes = Counter(map(outcome_of, answers))
    refused = [answer["error"] for answer in answers if outcome_of(answer) == "rate_limited"]
    is_told_when = bool(refused) and all(error["retry_after_ms"] > 0 for error in refused)
    is_counted = outcomes["ok"] >= 1 and set(outcomes) == {"ok", "rate_limited"} and len(answers) == BURST
    return is_told_when and is_counted, f"{outcomes['ok']} answered, {outcomes['rate_limited']} told when to ask again"


def _wait_helps(evidence: Evidence) -> tuple[bool, str]:
    outcome = outcome_of(evidence.one(Label.AFTER_BURST))
    return outcome == "ok", outcome


def _credential_resolved(evidence: Evidence) -> tuple[bool, str]:
    used = {line["credential"] for line in evidence.lines if line.get("credential")}
    return used == {evidence.credential}, ", ".join(sorted(used)) or "none"


def _counted(evidence: Evidence) -> tuple[bool, str]:
    return evidence.counted > 0, f"{evidence.counted} times"


def _words(error: Json) -> str:
    return ", ".join(str(reason["code"]) for reason in error["policy_reasons"])


_CLAIMS: tuple[tuple[str, Callable[[Evidence], tuple[bool, str]]], ...] = (
    ("The agent got an answer to every call", record_checks.all_answered),
    ("It sees its own tools and no others", _tools_listed),
    ("A page was fetched", _page_fetched),
    ("Its article was extracted, without the clutter", _article_extracted),
    ("A second article is beyond the agent's cap", _capped),
    ("Mail that policy allows is in the mailbox exactly once", _mailed_once),
    ("The gateway signed in to the mail server, over TLS", _mailed_safely),
    ("The same key again repeated the answer and not the mail", _replayed),
    ("Mail to a stranger was denied, with advice", _stranger_denied),
    ("A call that needs a person is parked, and nothing is sent", approval_checks.parked),
    ("The agent cannot approve its own call", approval_checks.cannot_approve_itself),
    ("A person approved the very call that she saw", approval_checks.approved_what_was_seen),
    ("It ran once: one line, one mail", approval_checks.ran_once),
    ("The decision has a line, with its reason", approval_checks.decision_written),
    ("The agent learned of it in every way there is", approval_checks.agent_learned),
    ("A tool that she stopped does nothing any more", approval_checks.stopped),
    ("A hidden tool and an unknown one look the same", _absence_hidden),
    ("Bad arguments are named field by field", _arguments_named),
    ("Cloud metadata was refused, however it was spelled", _metadata_refused),
    ("A redirect to loopback was refused before it connected", _redirect_refused),
    ("A burst over the tool's limit was slowed down", _burst_limited),
    ("Waiting as long as it was told was enough", _wait_helps),
    ("Every call left exactly one audit line", record_checks.one_line_each),
    ("Each line says what the agent was told", record_checks.lines_agree),
    ("Every decision names the policy that made it", record_checks.policy_decided),
    ("The mail password came out of OpenBao by reference", _credential_resolved),
    ("The limits were counted in Valkey", _counted),
    ("The audit chain verifies", record_checks.chain_verified),
    ("Signed checkpoints cover it to its end", record_checks.end_signed),
    ("The mail password is nowhere to be found", record_checks.no_secret),
    ("The gateway stopped when it was asked to", record_checks.stopped_cleanly),
)
