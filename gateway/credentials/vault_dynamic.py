"""`vault-dynamic:ENGINE/ROLE`: a credential that a Vault or an OpenBao makes for one call.

With `#FIELD` the secret is that field's value; without, it is a JSON object of all fields that hold text, sorted by
name, such as `{"password":"…","username":"…"}`, and each value of it is a secret too.
"""

from gateway.clients.vault_answers import VaultFailed
from gateway.credentials.base import Lent
from gateway.credentials.vault_leases import LeaseCounts, Leases
from gateway.credentials.vault_loan import Loan, Role
from gateway.credentials.vault_secret import not_known, refusal_of, secrets_of
from gateway.references import BadReference, parse_dynamic
from gateway.settings.vault import VaultSettings


class DynamicLender:
    """Lends leases for the references of the engines that the settings name."""

    def __init__(self, settings: VaultSettings, leases: Leases) -> None:
        assert settings.dynamic is not None
        self._engines = frozenset(settings.dynamic.engines)
        self._namespace = settings.namespace
        self._namespaces = dict(settings.namespaces)
        self._leases = leases

    async def lend(self, tenant: str, name: str, seconds: float) -> Lent:
        """A credential of the caller's own, or shared with calls of the same tenant where the settings say so."""
        try:
            role, field = self.find(tenant, name)
        except BadReference:
            raise not_known() from None
        try:
            loan = await self._leases.borrow(role, seconds)
        except VaultFailed as failed:
            trouble = failed.trouble
        else:
            return self._lent(loan, field)
        raise refusal_of(trouble)

    def find(self, tenant: str, name: str) -> tuple[Role, str]:
        """What `ENGINE/ROLE#FIELD` means to a tenant, and the field. Raises `BadReference`, also when the settings do
        not name the engine.
        """
        engine, role, field = parse_dynamic(name)
        if engine not in self._engines:
            raise BadReference("the settings do not name its engine; add it to vault.dynamic.engines")
        return Role(tenant, self._namespaces.get(tenant, self._namespace), engine, role), field

    def counts(self) -> LeaseCounts:
        """How many leases there are."""
        return self._leases.counts()

    async def close(self) -> None:
        """Have every lease revoked."""
        await self._leases.close()

    def _lent(self, loan: Loan, field: str) -> Lent:
        borrowed = [loan]

        def give_back() -> None:
            if borrowed:
                self._leases.give_back(borrowed.pop())

        try:
            return Lent(secrets_of(loan.held, field), loan.id, give_back)
        except BaseException:
            give_back()
            raise
