"""What every scene of the demo leaves behind: answers, audit lines, files; what all of them are judged by."""

from dataclasses import dataclass, field
from typing import Any

from gateway.cli.demo.errand import Way
from gateway.cli.demo.person import Typed
from gateway.cli.demo.search import Hit
from gateway.cli.demo.servers import Mail

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Everything that was seen from outside while an agent was at work, and what was left behind."""

    says: tuple[tuple[str, str], ...]
    """What the agent was to do, in order: a label, and what it is in words."""
    tools: tuple[str, ...]
    answers: tuple[Json, ...] = field(repr=False)
    """What the agent's process told, a task each."""
    typed: tuple[Typed, ...] = field(repr=False)
    """What was typed where people decide: by the agent first, if it tried, then by the person."""
    done_before: int
    """How much of what needs approval had been done when the person began to decide; -1: she never did."""
    control_mode: int
    """The file mode of the folder with the socket that people decide at."""
    agent_exit: int
    mailbox: tuple[Mail, ...] = field(repr=False)
    lines: tuple[Json, ...] = field(repr=False)
    """The audit lines, as values; what is empty in a line is left out of it."""
    chain_verified: bool
    chain_words: str
    uncovered: int
    """How many lines at the end no signed checkpoint covers."""
    secret_hits: tuple[Hit, ...]
    searched: frozenset[str]
    """The files that were looked into."""
    control_hits: int
    """Hits in OpenBao's own answers: the search does find what is there. 0 when one of the secrets is not found."""
    engine: str
    """What should have decided."""
    gateway_exit: int

    @property
    def calls(self) -> list[Json]:
        """The answers to calls: what only asks about one is none."""
        return [answer for answer in self.answers if answer["kind"] == Way.CALL]

    def lines_of(self, kind: str) -> list[Json]:
        """The audit lines of that kind."""
        return [line for line in self.lines if line["kind"] == kind]

    def of(self, label: str) -> list[Json]:
        """The answers to the tasks of that label."""
        return [answer["value"] for answer in self.answers if answer["label"] == label]

    def one(self, label: str) -> Json:
        """The only answer of that label, or an empty one when there is not exactly one."""
        found = self.of(label)
        return found[0] if len(found) == 1 else {}


def outcome_of(value: Json) -> str:
    """The one word for an answer: `ok`, `replay`, `pending`, or its error code."""
    if "result" in value:
        return "replay" if value.get("replay") else "ok"
    if "pending" in value:
        return "pending"
    return str(value.get("error", {}).get("code", "nothing"))
