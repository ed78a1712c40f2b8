"""Which credential references a connection may carry, and which hosts may receive what they stand for.

The grants come from the deployment's settings. A row can name a reference; it cannot allow itself one.
"""

from collections.abc import Iterable, Iterator

from gateway.references import BadReference, Reference, host_is_allowed, is_allowed, parse_reference
from gateway.settings.parts import CredentialGrant

AVAILABLE = frozenset({"env", "file", "vault", "vault-dynamic"})

Wrong = tuple[str, str]
"""A rule and a sentence. No sentence repeats a reference: it may be a secret that somebody pasted."""


def check_credential(
    text: str, hosts: tuple[str, ...], tenant: str, grants: Iterable[CredentialGrant]
) -> Iterator[Wrong]:
    """What is wrong with a connection's credential; nothing when the settings allow it."""
    try:
        reference = parse_reference(text)
    except BadReference as error:
        yield "credential_form", f"{error}; never write the secret itself"
        return
    if reference.scheme in AVAILABLE:
        yield from _not_granted(reference, hosts, tenant, grants)
    else:
        yield "credential_form", "a credential reference starts with env:, file:, vault: or vault-dynamic:"


def _not_granted(
    reference: Reference, hosts: tuple[str, ...], tenant: str, grants: Iterable[CredentialGrant]
) -> Iterator[Wrong]:
    """One grant must allow both the reference and every host; two halves do not make a whole."""
    if not hosts:
        yield "credential_hosts", "a connection with a credential must name the hosts that may receive it"
        return
    fitting = [grant for grant in grants if grant.tenant == tenant and is_allowed(reference, grant.references)]
    if not fitting:
        yield "credential_grant", f"the settings grant no such reference to the tenant {tenant!r}"
    elif not any(all(host_is_allowed(host, grant.hosts) for host in hosts) for grant in fitting):
        yield "credential_hosts", f"the settings do not let this credential go to {', '.join(hosts)}"
