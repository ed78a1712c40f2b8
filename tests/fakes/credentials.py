"""A source of credentials that a test fills, and that can fail in any way."""

from adapters.base import Secret
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
