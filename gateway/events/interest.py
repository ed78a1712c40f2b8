"""Which events somebody gets: what the agent's row names at the moment, and of that what was asked for."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gateway.call import Principal
from gateway.errors import Refused, RefusedKind
from gateway.registry.catalogue import Catalogue

MOST_NAMED = 64
"""Connections, and kinds, that one request may name."""
_CONNECTION = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_KIND = re.compile(r"(\*|[a-z0-9_]+(\.[a-z0-9_]+)*(\.\*)?)")
_MOST_CHARACTERS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a watcher asks for; all that its agent's row names when empty."""

    connections: frozenset[str] = frozenset()
    kinds: tuple[str, ...] = ()

    @classmethod
    def of(cls, connections: Sequence[str], kinds: Sequence[str]) -> "Asked":
        """The request's own filters. Raises `Refused` (invalid) for what can name nothing."""
        if max(len(connections), len(kinds)) > MOST_NAMED:
            raise _invalid(f"Name at most {MOST_NAMED} connections and {MOST_NAMED} kinds.")
        if not all(_CONNECTION.fullmatch(name) for name in connections):
            raise _invalid("A connection is named as in your row: lower-case letters, digits, and _ . - between them.")
        if not all(len(kind) <= _MOST_CHARACTERS and _KIND.fullmatch(kind) for kind in kinds):
            raise _invalid("A kind is exact (issue.opened), all of one thing (issue.*), or all (*).")
        return cls(connections=frozenset(connections), kinds=tuple(kinds))


class Interest:
    """The same narrowed to what an agent's row names."""

    __slots__ = ("_asked", "_kinds")

    def __init__(self, kinds: dict[str, tuple[str, ...]], asked: Asked) -> None:
        """`kinds` by connection."""
        self._kinds = {name: some for name, some in kinds.items() if not asked.connections or name in asked.connections}
        self._asked = asked.kinds

    @property
    def connections(self) -> frozenset[str]:
        """Whose events may be among them."""
        return frozenset(self._kinds)

    def takes(self, connection: str, kind: str) -> bool:
        """Whether this is one of them."""
        if not matches(kind, self._kinds.get(connection, ())):
            return False
        return not self._asked or matches(kind, self._asked)


def interest_of(catalogue: Catalogue, principal: Principal, asked: Asked) -> Interest:
    """What this caller gets by the registry as it is. An agent without a row gets nothing."""
    agent, _ = catalogue.agents.get((principal.tenant, principal.agent), (None, None))
    kinds: dict[str, tuple[str, ...]] = {}
    for one in agent.events if agent is not None else ():
        kinds[one.connection] = (*kinds.get(one.connection, ()), *one.kinds)
    return Interest(kinds, asked)


def matches(kind: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns is the kind, all of one thing that it is of (`issue.*`), or all (`*`)."""
    return any(
        pattern in ("*", kind) or (pattern.endswith(".*") and kind.startswith(pattern[:-1])) for pattern in patterns
    )


def _invalid(message: str) -> Refused:
    return Refused(RefusedKind.INVALID, message)
