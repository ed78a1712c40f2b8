"""A policy engine that answers what a test tells it to."""

from gateway.call import Decision
from gateway.errors import Refusal
from gateway.policy.base import EngineStatus
from gateway.policy.decision import read_decision, undefined

ALLOW = '{"effect":"allow","reasons":[],"obligations":[]}'


class FakeEngine:
    """Answers with one JSON text, None for undefined, or a refusal; keeps the documents that it was given."""

    name = "fake"

    def __init__(self, answer: str | Refusal | None = ALLOW, revision: str = "sha256:" + "0" * 64) -> None:
        self.answer = answer
        self.revision = revision
        self.documents: list[bytes] = []
        self.admin_answer: str | Refusal | None = answer
        self.admin_documents: list[bytes] = []
        self.is_ready = True
        self.is_started = False

    async def start(self) -> None:
        """Note that it was started."""
        self.is_started = True

    async def stop(self) -> None:
        """Note that it was stopped."""
        self.is_started = False

    def status(self) -> EngineStatus:
        """As ready as the test says."""
        return EngineStatus(is_ready=self.is_ready, revision=self.revision)

    async def decide(self, input_json: bytes) -> Decision:
        """The answer that was set, read as strictly as a real one."""
        self.documents.append(input_json)
        return self._read(self.answer)

    async def decide_admin(self, input_json: bytes) -> Decision:
        """The same of `admin_answer`."""
        self.admin_documents.append(input_json)
        return self._read(self.admin_answer)

    def _read(self, answer: str | Refusal | None) -> Decision:
        if isinstance(answer, Refusal):
            raise answer
        if answer is None:
            raise undefined()
        return read_decision(answer, self.revision)
