"""The demo's person, who decides what the agent may not decide: by the commands that she would type."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.cli.demo.project import AGENT, PERSON

REASON = "The text is as we agreed."
STOPPED = "email_send"
STOP_REASON = "One mail is enough."
COMPLAINS = "tollhouse: "
AGENTS_REASON = "I agree with myself."

Json = dict[str, Any]
Type = Callable[[Sequence[str]], Awaitable[tuple[int, str, str]]]
"""Types the words after `tollhouse`: exit code, output and complaints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """A command that somebody typed, and what came of it."""

    who: str
    words: tuple[str, ...]
    exit_code: int
    told: Json = field(repr=False)
    """What it printed; empty when that is no JSON object."""
    complaint: str = ""


async def approve_itself(approval_id: str, socket: Path, type_words: Type) -> Typed:
    """The agent tries to approve its own call, at the one socket that it can open."""
    words = ("approvals", "approve", approval_id, "--reason", AGENTS_REASON)
    return await _typed(AGENT, words, socket, type_words)


async def decide(control: Path, type_words: Type) -> tuple[Typed, ...]:
    """The person looks at what waits, reads the one call whole, stops another tool of the agent's, and approves the
    call. She goes no further where there is not exactly one.
    """
    stop = ("stop", "set", "tool", STOPPED, "--reason", STOP_REASON)
    return await approve_the_one(control, type_words, REASON, stop)


async def approve_the_one(
    control: Path, type_words: Type, reason: str, *before: tuple[str, ...], who: str = PERSON
) -> tuple[Typed, ...]:
    """She looks at what waits, reads the one call whole, types what else there is to type `before`, and approves."""
    listed = await _typed(who, ("approvals", "list"), control, type_words)
    waiting = [found["approval_id"] for found in listed.told.get("approvals", ())]
    if len(waiting) != 1:
        return (listed,)
    shown = await _typed(who, ("approvals", "show", waiting[0]), control, type_words)
    others = [await _typed(who, words, control, type_words) for words in before]
    approve = ("approvals", "approve", waiting[0], "--reason", reason)
    return listed, shown, *others, await _typed(who, approve, control, type_words)


async def _typed(who: str, words: tuple[str, ...], socket: Path, type_words: Type) -> Typed:
    code, out, complaint = await type_words((*words, "--socket", str(socket), "--json"))
    return Typed(
        who=who, words=words, exit_code=code, told=_object(out), complaint=complaint.strip().removeprefix(COMPLAINS)
    )


def _object(text: str) -> Json:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
