"""Step 7: the contract of a policy engine."""

from dataclasses import dataclass
from typing import Protocol

from gateway.call import Decision


class Engine(Protocol):
    """Decides. It never raises anything but `Refusal` with a reason that starts with `policy_`."""

    @property
    def name(self) -> str:
        """What decides, for the screen and the audit line, e.g. `embedded`."""
        ...

    @property
    def revision(self) -> str:
        """The active policy: `sha256:` and hex over every file that was loaded."""
        ...

    async def decide(self, input_json: bytes) -> Decision:
        """The decision for one input document (see `policies/input.schema.json`).

        Undefined is `Refusal(policy_undefined)`; a document that is not exactly a decision is
        `Refusal(policy_invalid)`; an engine that cannot answer is `Refusal(policy_unavailable)`.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyProblem:
    """Why a policy does not load."""

    file: str
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}: {self.rule}: {self.message}"


class PolicyUnusable(Exception):  # noqa: N818 - it carries problems, all of them at once
    """A policy that does not load."""

    def __init__(self, *problems: PolicyProblem) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems
