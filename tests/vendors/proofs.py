"""What was proved of every vendor's operations, counted: a proof that is not there counts as one that failed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from adapters.base import Adapter
from adapters.recipes import MakesOperations

OWN = "own"
NONE = "none"
Check = tuple[str, str, str]
"""A vendor, one of its operations, and what is proved of it: success, failure or paging."""
Operations = Mapping[str, type]
"""What an adapter can do, by name, and what each takes."""


@dataclass(frozen=True)
class Outcome:
    """How one test ended. `servers` are those that it ran against and that nobody here wrote."""

    passed: bool
    servers: tuple[str, ...] = ()


@dataclass
class Proofs:
    """What tests have told so far."""

    checks: dict[Check, list[Outcome]] = field(default_factory=lambda: defaultdict(list))
    rows: list[bool] = field(default_factory=list)
    descriptions: dict[tuple[str, str], dict[str, bool]] = field(default_factory=lambda: defaultdict(dict))
    """By vendor and the description's name: of every operation, whether its requests fit."""

    def summary(self, adapters: Mapping[str, Adapter]) -> dict[str, Any]:
        """What `.run/vendors.json` holds, for these vendors."""
        vendors = {name: self._vendor(name, operations_of(adapter)) for name, adapter in adapters.items()}
        return {"vendors": vendors, "table_rows": len(self.rows), "table_right": sum(self.rows)}

    def open_checks(self, vendor: str, operations: Operations) -> list[Check]:
        """What is not proved, or not any more."""
        return [check for check in demanded(vendor, operations) if not self._is_proved(check)]

    def _vendor(self, vendor: str, operations: Operations) -> dict[str, Any]:
        failed = len(self.open_checks(vendor, operations))
        return {
            "operations": len(operations),
            "passed": len(demanded(vendor, operations)) - failed,
            "failed": failed,
            "server": self._server(vendor, operations),
            "description": self._description(vendor, operations),
        }

    def _is_proved(self, check: Check) -> bool:
        outcomes = self.checks.get(check, [])
        return bool(outcomes) and all(outcome.passed for outcome in outcomes)

    def _server(self, vendor: str, operations: Operations) -> str:
        """The servers that the proofs ran against, and which operations only a server of ours proved."""
        proved = [check for check in demanded(vendor, operations) if self._is_proved(check)]
        found = {check: {server for one in self.checks[check] for server in one.servers} for check in proved}
        servers = sorted(set().union(*found.values()))
        ours = list(dict.fromkeys(operation for (_, operation, _), by in found.items() if not by))
        if not servers:
            return OWN if proved else NONE
        return ", ".join(servers) + _listed(OWN, ours)

    def _description(self, vendor: str, operations: Operations) -> str:
        """The description that requests were checked against, which operations do not fit it, and which it lacks."""
        for (of, name), fits in self.descriptions.items():
            if of == vendor:
                wrong = [operation for operation, does_fit in fits.items() if not does_fit]
                ours = [operation for operation in operations if operation not in fits]
                return name + _listed("does not fit", wrong) + _listed(OWN, ours)
        return NONE


def demanded(vendor: str, operations: Operations) -> list[Check]:
    """What has to be proved: that each operation succeeds, that it fails, and that it pages when it does."""
    return [(vendor, name, what) for name, takes in operations.items() for what in _of(takes)]


def unknown(checks: Iterable[Check], adapters: Mapping[str, Adapter]) -> list[Check]:
    """Those that nobody demands, such as one with a misspelled name."""
    known = {check for name, adapter in adapters.items() for check in demanded(name, operations_of(adapter))}
    return [check for check in checks if check not in known]


def operations_of(adapter: Adapter) -> Operations:
    """What the adapter can do. Where rows make the operations, it is the ways of making one."""
    if isinstance(adapter, MakesOperations):
        return dict.fromkeys(adapter.recipes, dict)
    return {name: operation.arguments for name, operation in adapter.operations.items()}


def _of(takes: type) -> tuple[str, ...]:
    does_page = "cursor" in get_type_hints(takes)
    return ("success", "failure", "paging") if does_page else ("success", "failure")


def _listed(word: str, operations: list[str]) -> str:
    return f" ({word}: {', '.join(operations)})" if operations else ""
