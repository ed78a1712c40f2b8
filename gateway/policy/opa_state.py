"""What the engine remembers of its OPA: how old the policy is there, and whether it answers."""

from adapters.base import Clock, Fault
from gateway.clients.opa import BundleState

MAX_FAILURES = 5
"""After so many exchanges in a row that OPA did not answer, calls are refused at once until it answers a look."""


class Freshness:
    """How long ago the active policy was known to be the newest."""

    def __init__(self, clock: Clock, max_age_seconds: float) -> None:
        self._clock = clock
        self._max_age_seconds = max_age_seconds
        self._heard_at: float | None = None
        self._since = clock.monotonic()

    def heard(self, state: BundleState) -> None:
        """Take in what OPA says. Only a change counts: OPA's clock may be wrong, or stand still."""
        if state.heard_at != self._heard_at:
            self._heard_at = state.heard_at
            self._since = self._clock.monotonic()

    @property
    def is_stale(self) -> bool:
        """Whether it is too old to decide, or its age is not known."""
        return self._heard_at is None or self.age() > self._max_age_seconds

    def age(self) -> float:
        """Seconds: by OPA's own time, and at least since that was last seen to move."""
        by_opa = self._clock.now() - self._heard_at if self._heard_at is not None else 0.0
        return max(by_opa, self._clock.monotonic() - self._since)


class Breaker:
    """Counts exchanges in a row that OPA did not answer, so that a dead or frozen one does not gather waiters."""

    def __init__(self) -> None:
        self.failures = 0
        self.fault: Fault | None = None
        """How the last one failed, while calls are refused at once; None while OPA is asked."""

    def count(self, fault: Fault) -> None:
        """One more."""
        self.failures += 1
        if self.failures >= MAX_FAILURES:
            self.fault = fault

    def close(self) -> None:
        """OPA has answered."""
        self.failures = 0
        self.fault = None
