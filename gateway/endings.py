"""How a call ends when it does not end well: what the caller is told, in one place.

Each sentence is safe for a model to read and says what it can do. An effect that happened, or may have, is
never told as a failure that could be tried again.
"""

from adapters.base import Fault, Happened, Output, Secret
from gateway.audit.trail import Trail
from gateway.call import Arguments, Decision, Failure, Known, Standing
from gateway.errors import Reason, Refusal
from gateway.invocation import Attempt
from gateway.result.scrub import scrub_text


def refuse_unrepeatable(known: Known, arguments: Arguments) -> None:
    """A key stands for one effect: other arguments, or a call still at work, are a conflict."""
    if known.arguments_digest != arguments.digest:
        raise Refusal(
            Reason.KEY_REUSED, "This idempotency key was used for other arguments. Take a new key for a new action."
        )
    if known.standing is Standing.IN_PROGRESS:
        raise Refusal(
            Reason.KEY_IN_PROGRESS,
            f"Call {known.call_id} is carrying out this action. Ask again with the same key.",
            retry_after_ms=1000,
        )


def denied(decision: Decision) -> Refusal:
    """Policy's first reason in its author's words; all of them go along as data."""
    first = decision.reasons[0] if decision.reasons else None
    said = " ".join(part for part in (first.message, first.advice) if part) if first else ""
    return Refusal(Reason.POLICY_DENIED, said or "Policy does not allow this call.", policy_reasons=decision.reasons)


def refuse_missing_key(decision: Decision) -> None:
    """Raises `Refusal(key_required)` when policy obliges the caller to send a key."""
    if any(obligation.type == "require_key" for obligation in decision.obligations):
        raise Refusal(Reason.KEY_REQUIRED, "Policy asks for an idempotency key with this call. Send one.")


def bare_output(attempt: Attempt) -> Output:
    """For an effect that happened although its answer is unusable: that it was done, and no more."""
    assert attempt.refusal is not None
    if attempt.happened is Happened.YES:
        return Output(receipt=f"Done. {attempt.refusal.message}")
    raise attempt.refusal


def done_but(refusal: Refusal) -> Refusal:
    """The effect happened and its answer cannot be shown: an agent must not take that for a failure to act."""
    message = f"This was done; do not do it again. {refusal.message}"
    return Refusal(refusal.reason, message, fault=refusal.fault)


def scrubbed(message: str, secrets: tuple[Secret, ...]) -> str:
    """The message without a credential, or another one: the call must have its line."""
    try:
        return scrub_text(message, secrets)
    except Exception:  # noqa: BLE001 - see above
        return "The call was stopped. The operator can find it by its id."


def left(trail: Trail) -> Failure:
    """The caller left before anything was sent, or else nobody knows what came of it."""
    if trail.happened in (Happened.YES, Happened.UNKNOWN):
        return Failure(reason=Reason.OUTCOME_UNKNOWN, message="The caller left while this was being done.")
    return Failure(reason=Reason.CANCELLED, message="The caller left.")


def internal(trail: Trail) -> Failure:
    """Something went wrong that should not; what happened to the effect decides what is told."""
    if trail.happened is Happened.UNKNOWN:
        return Failure(reason=Reason.OUTCOME_UNKNOWN, message="It is not known whether this happened.")
    if trail.happened is Happened.YES:
        message = f"This was done, then the gateway failed. Do not do it again. It is known as {trail.call_id}."
        return Failure(reason=Reason.INTERNAL, message=message, fault=Fault.ERROR)
    return Failure(
        reason=Reason.INTERNAL,
        message=f"The gateway failed at this call. The operator can find it as {trail.call_id}.",
        fault=Fault.ERROR,
    )


def untold() -> Failure:
    """This gateway was away from its store for so long that another one may have told of the call already, as one of
    which nobody knows. It is told the same here, whatever came of it.
    """
    message = (
        "The gateway lost its store at this call, so it cannot say what came of it. "
        "Do not repeat it under another key; asking again with the same key is safe."
    )
    return Failure(reason=Reason.OUTCOME_UNKNOWN, message=message, fault=Fault.TIMEOUT)


def withheld(trail: Trail, refusal: Refusal) -> Failure:
    """The answer cannot leave, since its line could not be written."""
    if trail.happened in (Happened.YES, Happened.UNKNOWN):
        message = "This may have happened, and could not be written down. Do not repeat it under another key."
        return Failure(reason=Reason.OUTCOME_UNKNOWN, message=message, fault=refusal.fault)
    return Failure.of(refusal)
