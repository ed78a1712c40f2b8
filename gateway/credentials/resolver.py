"""Step 11: a reference becomes a secret, if the deployment lets this tenant use it for these hosts."""

from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from adapters.base import Fault, Secret
from gateway.credentials.base import Lender, Lent, Shelf, Source
from gateway.errors import Reason, Refusal
from gateway.references import BadReference, Reference, host_is_allowed, is_allowed, parse_reference
from gateway.settings.parts import CredentialGrant

T = TypeVar("T")

MIN_CHARACTERS = 4
"""A shorter secret cannot be taken out of a result without taking out everything else. Under eight is
already weak."""
_MAX_DECISIONS = 10_000


@dataclass(frozen=True, slots=True)
class _Grant:
    references: tuple[str, ...]
    hosts: tuple[str, ...]

    def covers(self, reference: Reference, hosts: tuple[str, ...]) -> bool:
        """Whether one grant allows the reference and every host that it may be sent to."""
        return is_allowed(reference, self.references) and all(host_is_allowed(host, self.hosts) for host in hosts)


class Resolver:
    """Decides by the grants of the settings, at every call, and asks the source of the scheme."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        grants: Iterable[CredentialGrant],
        lenders: Mapping[str, Lender] = MappingProxyType({}),
    ) -> None:
        """By scheme, who keeps credentials and who has them made."""
        self._sources = dict(sources)
        self._lenders = dict(lenders)
        self._grants: dict[str, list[_Grant]] = {}
        for grant in grants:
            self._grants.setdefault(grant.tenant, []).append(_Grant(grant.references, grant.hosts))
        # Grants never change while the process runs, so a yes holds for the same question.
        self._decided: dict[tuple[str, str, tuple[str, ...]], Reference] = {}

    async def lend(self, tenant: str, reference: str, hosts: tuple[str, ...], *, seconds: float) -> Lent:
        """A credential for an invocation that takes at most so many seconds, to be ended by the caller.

        Raises `Refusal`: `credential_not_allowed`, `credential_missing` or `credential_unavailable`,
        in words that name neither the reference nor the value.
        """
        allowed = self._allowed(tenant, reference, hosts)
        source = self._sources.get(allowed.scheme)
        if source is not None:
            return Lent((_checked(await _asked(source.resolve(tenant, allowed.name))),))
        lent = await _asked(self._lenders[allowed.scheme].lend(tenant, allowed.name, seconds))
        try:
            for secret in lent.secrets:
                _checked(secret)
        except Refusal:
            lent.end()
            raise
        return lent

    async def again(self, tenant: str, reference: str, hosts: tuple[str, ...]) -> Secret | None:
        """The credential as it is now, whatever was read a while ago; None when it is made anew for every call.

        Raises `Refusal` as `lend` does.
        """
        allowed = self._allowed(tenant, reference, hosts)
        source = self._sources.get(allowed.scheme)
        if source is None:
            return None
        read = source.again if isinstance(source, Shelf) else source.resolve
        return _checked(await _asked(read(tenant, allowed.name)))

    def may_replace(self, reference: str) -> bool:
        """Whether it is somewhere that can be written."""
        return isinstance(self._sources.get(reference.partition(":")[0]), Shelf)

    async def replace(self, tenant: str, reference: str, hosts: tuple[str, ...], change: tuple[Secret, str]) -> bool:
        """The credential is the second of `change` from now on, if it still is the first. False when it is something
        else by now, which stays. Raises `Refusal` when nobody knows, or it may not be written.
        """
        allowed = self._allowed(tenant, reference, hosts)
        source = self._sources.get(allowed.scheme)
        if not isinstance(source, Shelf):
            raise _not_allowed()
        return await _asked(source.replace(tenant, allowed.name, *change))

    def _allowed(self, tenant: str, reference: str, hosts: tuple[str, ...]) -> Reference:
        question = (tenant, reference, hosts)
        return self._decided.get(question) or self._decide(question)

    def _decide(self, question: tuple[str, str, tuple[str, ...]]) -> Reference:
        tenant, text, hosts = question
        try:
            reference = parse_reference(text)
        except BadReference as error:
            raise _not_allowed() from error
        is_known = reference.scheme in self._sources or reference.scheme in self._lenders
        grants = self._grants.get(tenant, [])
        if not is_known or not hosts or not any(grant.covers(reference, hosts) for grant in grants):
            raise _not_allowed()
        if len(self._decided) >= _MAX_DECISIONS:
            self._decided.clear()
        self._decided[question] = reference
        return reference


async def _asked(answer: Awaitable[T]) -> T:
    """What a source answers, and a refusal for whatever else it raises: that may hold the secret."""
    failure = None
    try:
        return await answer
    except Refusal as refusal:
        failure = refusal
    except Exception:  # noqa: BLE001, S110 - a source broke its contract
        pass
    raise failure or Refusal(
        Reason.CREDENTIAL_UNAVAILABLE, "The connection's credential cannot be read now.", fault=Fault.ERROR
    )


def _checked(secret: Secret) -> Secret:
    if len(secret.reveal()) >= MIN_CHARACTERS:
        return secret
    message = "The connection's credential is too short to be kept out of results; the operator must replace it."
    raise Refusal(Reason.CREDENTIAL_UNAVAILABLE, message, fault=Fault.MALFORMED)


def _not_allowed() -> Refusal:
    message = "The gateway's settings do not let this connection use its credential; the operator can change that."
    return Refusal(Reason.CREDENTIAL_NOT_ALLOWED, message)
