"""What has to hold for the second scene to be a success."""

from typing import Any

from gateway.cli.demo import record_checks
from gateway.cli.demo.record import outcome_of
from gateway.cli.demo.record_checks import Check, Rule, judged
from gateway.cli.demo.refund.evidence import RefundEvidence
from gateway.cli.demo.refund.project import PERSON
from gateway.cli.demo.refund.steps import AMOUNT, CURRENCY, CUSTOMER, TOOLS, Step

REASON = "Both charges are for one order."
MARK = "tollhouse_effect"

Json = dict[str, Any]


def run_refund_checks(evidence: RefundEvidence) -> tuple[Check, ...]:
    """Every claim, judged. A claim whose evidence is malformed does not hold."""
    return judged(_CLAIMS, evidence)


def _tools_listed(evidence: RefundEvidence) -> tuple[bool, str]:
    return set(evidence.tools) == set(TOOLS.values()), f"{len(evidence.tools)} tools"


def _found(evidence: RefundEvidence) -> tuple[bool, str]:
    (customer,) = _structured(evidence, Step.CUSTOMER)["customers"]
    charges = _structured(evidence, Step.CHARGES)["charges"]
    alike = {(charge["customer"], charge["amount"], charge["currency"]) for charge in charges}
    is_double = len(charges) == 2 and alike == {(customer["id"], AMOUNT, CURRENCY)}
    return customer["email"] == CUSTOMER and is_double, f"{len(charges)} charges"


def _one_issue(evidence: RefundEvidence) -> tuple[bool, str]:
    told = _structured(evidence, Step.ISSUE)["identifier"]
    there = [issue["identifier"] for issue in evidence.issues]
    return there == [told], ", ".join(there) or "none"


def _parked(evidence: RefundEvidence) -> tuple[bool, str]:
    pending = evidence.one(Step.REFUND)["pending"]
    is_parked = bool(pending["approval_id"]) and evidence.done_before == 0
    return is_parked, f"pending, {max(evidence.done_before, 0)} refunded"


def _approved_what_was_seen(evidence: RefundEvidence) -> tuple[bool, str]:
    """She saw what is, what would be, and the arguments that ran."""
    _, shown, decided = evidence.typed
    (execution,), (decision,) = evidence.lines_of("execution"), evidence.lines_of("decision")
    digests = {shown.told["arguments_digest"], decision["arguments_digest"], execution["arguments_digest"]}
    preview = shown.told["preview"]
    is_seen = (preview["was"]["refunded"], preview["will_be"]["refunded"]) == ("0.00 USD", "20.00 USD")
    is_hers = {one.who for one in evidence.typed} == {PERSON} and decision["principal"] == PERSON
    return is_seen and is_hers and len(digests) == 1 and decided.exit_code == 0, f"she saw {preview['refund']}"


def _refunded_once(evidence: RefundEvidence) -> tuple[bool, str]:
    """One run, one refund, which Stripe itself knows by the effect."""
    parked, (execution,) = evidence.one(Step.REFUND), evidence.lines_of("execution")
    made = [(refund["amount"], refund["metadata"].get(MARK)) for refund in evidence.refunds]
    is_once = made == [(AMOUNT, parked["effect_id"])] and execution["outcome"] == "ok"
    return is_once and execution["effect_id"] == parked["effect_id"], f"{len(made)} refund"


def _decision_written(evidence: RefundEvidence) -> tuple[bool, str]:
    (line,) = evidence.lines_of("decision")
    is_hers = (line["principal"], line["principal_kind"], line["decision"]) == (PERSON, "human", "approve")
    return is_hers and line["note"] == REASON, f"{line['principal']}: {line['note']}"


def _learned(evidence: RefundEvidence) -> tuple[bool, str]:
    """By following the call, and by the same key, which refunds nothing again."""
    parked, followed, again = (evidence.one(step) for step in (Step.REFUND, Step.FOLLOWED, Step.REFUND_AGAIN))
    is_same = followed["result"] == again["result"]
    is_one = {parked["effect_id"], followed["effect_id"], again["effect_id"]} == {parked["effect_id"]}
    return is_same and is_one and again["replay"] is True, outcome_of(again)


def _one_message(evidence: RefundEvidence) -> tuple[bool, str]:
    charge = _structured(evidence, Step.FOLLOWED)["charge"]
    told = [message["text"] for message in evidence.messages]
    return len(told) == 1 and charge in told[0], f"{len(told)} in the channel"


def _one_mail(evidence: RefundEvidence) -> tuple[bool, str]:
    sent = [(mail.recipients, mail.is_authenticated and mail.is_encrypted) for mail in evidence.mailbox]
    return sent == [((CUSTOMER,), True)], f"{len(sent)} in the mailbox"


def _credentials_resolved(evidence: RefundEvidence) -> tuple[bool, str]:
    used = {line["credential"] for line in evidence.lines if line.get("credential")}
    return used == evidence.credentials, f"{len(used)} references"


def _counted(evidence: RefundEvidence) -> tuple[bool, str]:
    return evidence.counted > 0, f"{evidence.counted} times"


def _structured(evidence: RefundEvidence, step: Step) -> Json:
    return dict(evidence.one(step)["result"]["structured"])


_CLAIMS: tuple[tuple[str, Rule[RefundEvidence]], ...] = (
    ("The agent got an answer to every call", record_checks.all_answered),
    ("It sees its own tools and no others", _tools_listed),
    ("It found the customer and her two charges", _found),
    ("There is one issue at Linear", _one_issue),
    ("The refund is parked, and nothing is given back", _parked),
    ("A person approved the very refund that she saw", _approved_what_was_seen),
    ("It ran once: Stripe has one refund, marked with the effect", _refunded_once),
    ("The decision has a line, with its reason", _decision_written),
    ("The agent learned of it, and its second try refunded nothing", _learned),
    ("There is one message at Slack", _one_message),
    ("There is one mail to the customer", _one_mail),
    ("Every call left exactly one audit line", record_checks.one_line_each),
    ("Each line says what the agent was told", record_checks.lines_agree),
    ("Every decision names the policy that made it", record_checks.policy_decided),
    ("Every key came out of OpenBao by reference", _credentials_resolved),
    ("The limits were counted in Valkey", _counted),
    ("The audit chain verifies", record_checks.chain_verified),
    ("Signed checkpoints cover it to its end", record_checks.end_signed),
    ("None of the four keys is anywhere to be found", record_checks.no_secret),
    ("The gateway stopped when it was asked to", record_checks.stopped_cleanly),
)
