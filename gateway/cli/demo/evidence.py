"""Everything that the demo was seen to do: what the checks judge and the report shows."""

from dataclasses import dataclass, field
from typing import Any

from gateway.cli.demo.errand import ANNOUNCEMENT, Label, Task, Way
from gateway.cli.demo.person import Typed
from gateway.cli.demo.search import Hit
from gateway.cli.demo.servers import Mail

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything that was seen from outside while the agent ran its errand, and what was left behind."""

    tasks: tuple[Task, ...]
    tools: tuple[str, ...]
    answers: tuple[Json, ...] = field(repr=False)
    """What the agent's process told, a task each."""
    typed: tuple[Typed, ...] = field(repr=False)
    """What was typed where people decide: by the agent first, then by the person."""
    sent_before: int
    """How many mails that need approval had been sent when the person began to decide; -1: she never did."""
    control_mode: int
    """The file mode of the folder with the socket that people decide at."""
    agent_exit: int
    mailbox: tuple[Mail, ...] = field(repr=False)
    trapped: int
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
    """Hits in OpenBao's own answer: the search does find what is there."""
    engine: str
    """What should have decided."""
    counted: int
    """How often Valkey was asked."""
    credential: str
    """The reference to the mail password."""
    gateway_exit: int

    @property
    def calls(self) -> list[Json]:
        """The answers to calls: what only asks about one is none."""
        return [answer for answer in self.answers if answer["kind"] == Way.CALL]

    @property
    def announced(self) -> list[Mail]:
        """The mails that a person had to approve."""
        return [mail for mail in self.mailbox if mail.subject == ANNOUNCEMENT]

    def lines_of(self, kind: str) -> list[Json]:
        """The audit lines of that kind."""
        return [line for line in self.lines if line["kind"] == kind]

    def of(self, label: Label) -> list[Json]:
        """The answers to the tasks of that label."""
        return [answer["value"] for answer in self.answers if answer["label"] == label]

    def one(self, label: Label) -> Json:
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
