"""What is wrong with the `vault-dynamic:` references of a registry, found without having a credential made."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from gateway.clients.vault_answers import VaultFailed
from gateway.credentials.vault_check import VaultReport
from gateway.credentials.vault_dynamic import DynamicLender
from gateway.references import BadReference, parse_reference

REVOKE, RENEW = "sys/leases/revoke", "sys/leases/renew"

Capabilities = Callable[[str, Sequence[str]], Awaitable[Mapping[str, frozenset[str]]]]
"""Given a namespace and paths of the API, what the login may do at each."""


async def examine_dynamic(
    references: Iterable[tuple[str, str]], lender: DynamicLender | None, capabilities: Capabilities
) -> VaultReport:
    """Say by which references nothing can be lent, or not be taken back. Raises nothing.

    A server that cannot be asked is nobody's mistake: the first such failure is a warning and ends the check.
    """
    problems: list[str] = []
    for tenant, text in dict.fromkeys(references):
        if not text.startswith("vault-dynamic:"):
            continue
        try:
            problem = await _problem(tenant, text, lender, capabilities)
        except VaultFailed as failed:
            warning = f"vault-dynamic: references are not checked: {failed}"
            return VaultReport(tuple(problems), (warning,))
        if problem:
            problems.append(f"{text} (tenant {tenant}): {problem}")
    return VaultReport(tuple(problems), ())


async def _problem(tenant: str, text: str, lender: DynamicLender | None, capabilities: Capabilities) -> str:
    """Empty when all is well. Raises `VaultFailed` when that cannot be told."""
    if lender is None:
        return "the settings name no engine that makes credentials; add vault.dynamic"
    try:
        role, _ = lender.find(tenant, parse_reference(text).name)
    except BadReference as error:
        return str(error)
    path = f"{role.engine}/creds/{role.name}"
    may = await capabilities(role.namespace, (path, REVOKE, RENEW))
    if not may[path] & {"read", "root"}:
        return f"the login has no right to read {path}; a policy must allow it"
    lacking = [where for where in (REVOKE, RENEW) if not may[where] & {"update", "root"}]
    if lacking:
        return f"the login has no right to update {' and '.join(lacking)}; without it no lease ends with its call"
    return ""
