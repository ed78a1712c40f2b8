"""The cells of the fail-closed matrix: which there are, and how a call is told in each."""

import itertools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

POLICY, REGISTRY, LIMITER, VAULT = "policy", "registry", "limiter", "vault"
JOURNAL, DATABASE, ADAPTER, APPROVALS = "journal", "database", "adapter", "approvals"
PARTS = (POLICY, REGISTRY, LIMITER, VAULT, JOURNAL, DATABASE, ADAPTER, APPROVALS)
REFUSE, HANG, SLOW, GARBAGE, ERROR, RESET = WAYS = ("refuse", "hang", "slow", "garbage", "error", "reset")

SENSELESS: Mapping[tuple[str, str], str] = {
    (JOURNAL, GARBAGE): "the journal is written and not asked; what is read at a start is tampered with in `audit`",
    (JOURNAL, RESET): "a file has nobody at its other end who could break a connection off",
}
"""Cells that make no sense, and why."""
_LATE = "slow is an answer after the deadline, and nobody waits longer to see whether one would still have come"
_NO = "a vault that says no is told `refused`, so that one that does not listen is as one that breaks off"
ALIKE: Mapping[tuple[str, frozenset[str]], str] = {
    **{(part, frozenset({HANG, SLOW})): _LATE for part in PARTS},
    (VAULT, frozenset({REFUSE, RESET})): _NO,
}
"""Cells of one part that are told alike, and why."""


class Told(NamedTuple):
    """How the line of a call, or its answer when it never began, tells of it."""

    reason: str
    """`ok` and `pending` when there is none."""
    fault: str = ""
    delivered: bool = True

    def __str__(self) -> str:
        return " ".join(filter(None, (self.reason, self.fault, "" if self.delivered else "undelivered")))


FINE = Told("ok")
UNBEGUN = Told("journal_unavailable", "no line")
"""There was no call: nothing of it could be written down."""


class Cell(NamedTuple):
    """How calls are told while a part is broken in one way."""

    effect: Told
    """A write or a send."""
    reads: frozenset[Told]
    """A read: one of these."""
    effects: frozenset[Told] = frozenset()
    """What a write or send may be told beside."""


_FAULTS = {REFUSE: "refused", HANG: "timeout", SLOW: "timeout", GARBAGE: "malformed", ERROR: "error", RESET: "reset"}
_VENDOR = {
    REFUSE: "vendor_unavailable",
    HANG: "deadline",
    SLOW: "deadline",
    GARBAGE: "vendor_malformed",
    ERROR: "vendor_unavailable",
    RESET: "vendor_unavailable",
}
_ALL_REFUSED = {
    POLICY: "policy_unavailable",
    LIMITER: "limiter_unavailable",
    VAULT: "credential_unavailable",
    APPROVALS: "approvals_unavailable",
}
"""By part, what every call is told: read, write or send."""
_EFFECTS_REFUSED = {REGISTRY: "registry_unavailable", DATABASE: "store_unavailable"}
"""By part, what a write or send is told; reads do without it."""


def expected(part: str, way: str) -> Cell:
    """How calls have to be told."""
    fault = _FAULTS[RESET if (part, way) == (VAULT, REFUSE) else way]
    if part in _ALL_REFUSED:
        told = Told(_ALL_REFUSED[part], fault)
        return Cell(told, frozenset({told}))
    if part in _EFFECTS_REFUSED:
        return Cell(Told(_EFFECTS_REFUSED[part], fault), frozenset({FINE}))
    if part == JOURNAL:
        # A begin is in the page cache, and what fails is to make it durable: then no other call begins for a moment.
        return Cell(Told("journal_unavailable", fault), frozenset({FINE, UNBEGUN}), frozenset({UNBEGUN}))
    # Nothing was sent when nobody could be connected to; else nobody knows whether the vendor has acted.
    effect = Told("vendor_unavailable" if way == REFUSE else "outcome_unknown", fault)
    # A read is repeated, and its time may be up meanwhile.
    return Cell(effect, frozenset({Told(_VENDOR[way], fault), Told("deadline", "timeout")}))


def ways_of(part: str) -> tuple[str, ...]:
    """The ways in which it makes sense to break the part."""
    return tuple(way for way in WAYS if (part, way) not in SENSELESS)


def pairs_to_tell_apart() -> Iterator[tuple[str, str, str]]:
    """A part, and two ways of breaking it that must not be told alike."""
    for part in PARTS:
        for one, other in itertools.combinations(ways_of(part), 2):
            if (part, frozenset({one, other})) not in ALIKE:
                yield part, one, other


def notes() -> tuple[str, ...]:
    """What a reader of the matrix has to know, a sentence each."""
    senseless = [f"{part} x {way} is no case: {why}" for (part, way), why in SENSELESS.items()]
    alike: dict[tuple[str, str], list[str]] = {}
    for (part, ways), why in ALIKE.items():
        alike.setdefault((" and ".join(sorted(ways)), why), []).append(part)
    return (*senseless, *(f"{ways} are told alike ({', '.join(parts)}): {why}" for (ways, why), parts in alike.items()))
