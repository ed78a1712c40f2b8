"""Step 7: the contract of a policy engine."""

from dataclasses import dataclass
from typing import Protocol

from gateway.call import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStatus:
    """How a policy engine stands, for health, metrics and the screen."""

    is_ready: bool
    """Whether the next call would be decided: a policy is active, was tried, and is not too old."""
    revision: str = ""
    age_seconds: float = 0.0
    """Since the active policy was last known to be the newest."""
    is_open: bool = False
    """Whether it failed so often that it is not asked for the moment."""
    problem: str = ""
    """Why it is not ready, or why a newer policy was refused: one sentence that holds nothing of any call."""


class Engine(Protocol):
    """Decides. `decide` raises nothing but `Refusal` with a reason that starts with `policy_`."""

    @property
    def name(self) -> str:
        """What decides, for the screen and the audit line: `embedded` or `opa`."""
        ...

    @property
    def revision(self) -> str:
        """The active policy's revision: of a bundle what its manifest says, of folders `sha256:` and hex over
        every file that was loaded. Empty when no policy is active.
        """
        ...

    async def start(self) -> None:
        """Load the policy, and follow its changes from now on.

        Raises `PolicyUnusable` when the policy is here and cannot be used. When it has to come from elsewhere
        and is not there yet, returns: until it is, every decision is `Refusal(policy_not_loaded)`.
        """
        ...

    async def stop(self) -> None:
        """Let go of everything. Harmless when it was not started."""
        ...

    def status(self) -> EngineStatus:
        """How it stands now. Asks nobody."""
        ...

    async def decide(self, input_json: bytes) -> Decision:
        """The decision for one input document (see `policies/input.schema.json`).

        Undefined is `Refusal(policy_undefined)`; a document that is not exactly a decision is
        `Refusal(policy_invalid)`; an engine that cannot answer is `Refusal(policy_unavailable)`, and one without
        a policy that may decide `Refusal(policy_not_loaded)`.
        """
        ...

    async def decide_admin(self, input_json: bytes) -> Decision:
        """The decision on what an operator wants to do (see `policies/admin_input.schema.json`), by a rule of its
        own. Refuses as `decide` does; a policy without that rule allows nothing: `Refusal(policy_undefined)`.
        """
        ...


class Floor(Protocol):
    """Remembers, over restarts, the newest revision that was ever active, so that nobody brings an old one back."""

    def why_not(self, revision: str) -> str:
        """Why this revision may not decide, in one sentence: it is older than the newest that ever did, or nobody
        can tell. Empty when it may.
        """
        ...

    def raise_to(self, revision: str) -> None:
        """This revision is active now. Return when that is kept. Raises `PolicyUnusable` when it is not."""
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
