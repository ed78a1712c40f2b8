"""Whom an event invites: one entry, one plain address, so that policy judges exactly who gets the invitation."""

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.addresses import is_full_domain, is_local_part
from adapters.base import ArgumentIssue

MAX_ATTENDEES = 100
_MAX_ADDRESS = 254


@dataclass(frozen=True, slots=True)
class People:
    """Addresses in lower case, each once, in the order given; and the domains they are in, sorted."""

    addresses: tuple[str, ...]

    @property
    def domains(self) -> list[str]:
        """Each once."""
        return sorted({address.rpartition("@")[2] for address in self.addresses})


def read_people(entries: Sequence[str], path: str, issues: list[ArgumentIssue]) -> People:
    """The addresses, with an issue for each entry that is not exactly one plain address."""
    found = {}
    for index, entry in enumerate(entries):
        address = _address(entry)
        if address is None:
            message = "is not one plain address such as ann@corp.example, without a name and in ASCII"
            issues.append(ArgumentIssue(path=f"{path}/{index}", rule="address", message=f"The entry {message}."))
        else:
            found[address] = True
    if len(entries) > MAX_ATTENDEES:
        message = f"An event may invite {MAX_ATTENDEES} at most."
        issues.append(ArgumentIssue(path=path, rule="max_items", message=message))
    return People(tuple(found))


def _address(entry: str) -> str | None:
    local, at, domain = entry.rpartition("@")
    domain = domain.lower()
    if not at or len(entry) > _MAX_ADDRESS or not is_local_part(local) or not is_full_domain(domain):
        return None
    return f"{local.lower()}@{domain}"
