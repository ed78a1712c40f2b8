"""Sources of credentials that a test fills, and that can fail in any way."""

from adapters.base import Secret
from gateway.credentials.base import Lent
from gateway.errors import Reason, Refusal


class FakeSource:
    """Values by name. `failure` is raised instead of answering; `asked` and `tenants` hold what was asked for."""

    def __init__(self, values: dict[str, str] | None = None) -> None:
        self.values = dict(values or {})
        self.failure: BaseException | None = None
        self.asked: list[str] = []
        self.tenants: list[str] = []

    async def resolve(self, tenant: str, name: str) -> Secret:
        """The secret behind a name."""
        self.asked.append(name)
        self.tenants.append(tenant)
        if self.failure is not None:
            raise self.failure
        if name not in self.values:
            raise Refusal(Reason.CREDENTIAL_MISSING, "The connection's credential is not there.")
        return Secret(self.values[name])


class FakeLender:
    """Lends what is in `values`, by name: all the secrets of one credential. `open` holds the leases that were not
    given back, `ended` the others, and `seconds` for how long each was asked for. `failure` is raised instead.
    """

    def __init__(self, values: dict[str, tuple[str, ...]] | None = None) -> None:
        self.values = dict(values or {})
        self.failure: BaseException | None = None
        self.open: list[str] = []
        self.ended: list[str] = []
        self.seconds: list[float] = []
        self.tenants: list[str] = []

    async def lend(self, tenant: str, name: str, seconds: float) -> Lent:
        """A lease of its own."""
        if self.failure is not None:
            raise self.failure
        if name not in self.values:
            raise Refusal(Reason.CREDENTIAL_MISSING, "The connection's credential is not there.")
        self.seconds.append(seconds)
        self.tenants.append(tenant)
        lease_id = f"{name}/{len(self.seconds)}"
        self.open.append(lease_id)

        def give_back() -> None:
            if lease_id in self.open:
                self.open.remove(lease_id)
                self.ended.append(lease_id)

        return Lent(tuple(map(Secret, self.values[name])), lease_id, give_back)
