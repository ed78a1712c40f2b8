"""What has to hold of what a person decides: rules for `gateway.cli.demo.checks`."""

from gateway.cli.demo.errand import ANNOUNCEMENT, Label
from gateway.cli.demo.evidence import Evidence
from gateway.cli.demo.person import REASON, STOP_REASON
from gateway.cli.demo.project import PERSON


def parked(evidence: Evidence) -> tuple[bool, str]:
    """Pending, and nothing was sent before the person began to decide."""
    pending = evidence.one(Label.APPROVAL)["pending"]
    is_parked = bool(pending["approval_id"]) and evidence.done_before == 0
    return is_parked, f"pending, {max(evidence.done_before, 0)} sent"


def cannot_approve_itself(evidence: Evidence) -> tuple[bool, str]:
    """Nobody serves approvals where the agent is, and no other user may enter the folder where somebody does."""
    tried = evidence.typed[0]
    is_refused = tried.who != PERSON and tried.exit_code == 2 and "does not serve" in tried.complaint
    mode = f"not served there; the people's folder has mode {evidence.control_mode:04o}"
    return is_refused and evidence.control_mode == 0o700, mode


def approved_what_was_seen(evidence: Evidence) -> tuple[bool, str]:
    """She saw the arguments that ran: line, approval and decision have one digest."""
    pending = evidence.one(Label.APPROVAL)
    _, listed, shown, _, decided = evidence.typed
    (execution,), (decision,) = evidence.lines_of("execution"), evidence.lines_of("decision")
    digests = {shown.told["arguments_digest"], decision["arguments_digest"], execution["arguments_digest"]}
    ids = {one["approval_id"] for one in (*listed.told["approvals"], shown.told, decided.told, execution, decision)}
    is_one = len(digests) == 1 and ids == {pending["pending"]["approval_id"]}
    return is_one and shown.told["arguments"]["subject"] == ANNOUNCEMENT, f"{len(digests)} digest, {len(ids)} approval"


def ran_once(evidence: Evidence) -> tuple[bool, str]:
    """One line of the run, one mail."""
    pending, lines = evidence.one(Label.APPROVAL), evidence.lines_of("execution")
    ran = [(line["call_id"], line["effect_id"], line["outcome"]) for line in lines]
    is_once = ran == [(pending["call_id"], pending["effect_id"], "ok")] and len(evidence.announced) == 1
    return is_once, f"{len(lines)} execution line, {len(evidence.announced)} mail"


def decision_written(evidence: Evidence) -> tuple[bool, str]:
    """Who decided, and why."""
    (line,) = evidence.lines_of("decision")
    is_hers = (line["principal"], line["principal_kind"], line["decision"]) == (PERSON, "human", "approve")
    return is_hers and line["note"] == REASON, f"{line['principal']}: {line['note']}"


def agent_learned(evidence: Evidence) -> tuple[bool, str]:
    """By following it, by asking for it, and by the same key: one result, of one effect."""
    first = evidence.one(Label.APPROVAL)
    heard = [evidence.one(label) for label in (Label.FOLLOWED, Label.ASKED, Label.APPROVED_AGAIN)]
    is_same = all(one["result"] == heard[0]["result"] and one["effect_id"] == first["effect_id"] for one in heard)
    is_replay = heard[2]["replay"] is True and heard[2]["call_id"] != first["call_id"]
    return is_same and is_replay, "the same result three times" if is_same else "different results"


def stopped(evidence: Evidence) -> tuple[bool, str]:
    """The tool does nothing any more, and one line tells who stopped it, and why."""
    error, lines = evidence.one(Label.STOPPED)["error"], evidence.lines_of("admin")
    said = [(line["principal"], line["outcome"], line["note"]) for line in lines]
    return error["reason"] == "stopped" and said == [(PERSON, "ok", STOP_REASON)], str(error["reason"])
