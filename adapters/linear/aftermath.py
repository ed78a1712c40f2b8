"""What became of a write whose outcome nobody knows.

What was made is found by the id that we gave it. That it is not found proves something only when enough time has
passed for an answer that was on its way, and when the account still sees where it would be.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from adapters.base import AdapterError, Clock, ErrorKind, Finding, Invocation
from adapters.linear import answers, documents
from adapters.linear.documents import Document
from adapters.linear.graphql import ask
from adapters.linear.writing import INPUT_OF, comment_id, current_of, issue_id, wanted_of
from adapters.transport.api import Api

SETTLED_SECONDS = 300.0
"""After the earliest moment of an attempt: by then it has arrived at Linear and can be read, or never will."""


class Aftermath:
    """Asks Linear."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock

    async def create_issue(self, invocation: Invocation) -> Finding:
        """Whether the issue is there."""
        if await self._read(invocation, documents.READ_ISSUE, issue_id(invocation.effect_id)) is not None:
            return Finding.DONE
        return await self._missing(invocation, documents.READ_TEAM, invocation.arguments["team_id"])

    async def comment_on_issue(self, invocation: Invocation) -> Finding:
        """Whether the comment is there."""
        if await self._read(invocation, documents.READ_COMMENT, comment_id(invocation.effect_id)) is not None:
            return Finding.DONE
        return await self._missing(invocation, documents.READ_ISSUE, invocation.arguments["issue"])

    async def update_issue(self, invocation: Invocation) -> Finding:
        """Whether the issue is as it was to be; it does not matter then who made it so. That it is otherwise proves
        nothing, since somebody may have changed it after us, unless nobody has changed it at all. Nor does anything
        about labels of which not all are seen.
        """
        node = await self._read(invocation, documents.READ_ISSUE, invocation.arguments["issue"])
        if node is None:
            return Finding.STILL_UNKNOWN
        found = [_is_as(node, name, value) for name, value in wanted_of(invocation.arguments).items()]
        if None in found:
            return Finding.STILL_UNKNOWN
        if all(found):
            return Finding.DONE
        changed = _seconds(node["updated_at"])
        is_untouched = changed is not None and changed < invocation.since
        return Finding.NOT_DONE if is_untouched and self._is_settled(invocation) else Finding.STILL_UNKNOWN

    async def _missing(self, invocation: Invocation, where: Document, where_id: str) -> Finding:
        """What it means that nothing was found by our id."""
        if not self._is_settled(invocation):
            return Finding.STILL_UNKNOWN
        is_seen = await self._read(invocation, where, where_id) is not None
        return Finding.NOT_DONE if is_seen else Finding.STILL_UNKNOWN

    async def _read(self, invocation: Invocation, document: Document, wanted: str) -> dict[str, Any] | None:
        """What is there by this id; None when Linear says that there is nothing. Raises `AdapterError` else."""
        try:
            answer = await ask(self._api, invocation, document, {"id": wanted})
        except AdapterError as error:
            if error.kind is ErrorKind.NOT_FOUND:
                return None
            raise
        if answer.value is None:
            return None
        if not isinstance(answer.value, Mapping) or answers.text(answer.value.get("id")) is None:
            raise answer.reply.error(ErrorKind.MALFORMED, "Linear's answer lacks what it should have.")
        issue = answers.issue(answer.value)
        description = answers.text(answer.value.get("description"))
        return {**(issue or {}), "description": description, "told": frozenset(answer.value)}

    def _is_settled(self, invocation: Invocation) -> bool:
        """Never when nobody knows when the attempt was."""
        return 0 < invocation.since < self._clock.now() - SETTLED_SECONDS


def _is_as(issue: Mapping[str, Any], name: str, value: Any) -> bool | None:
    """Whether the issue is so; None when that cannot be seen."""
    if (INPUT_OF[name].removesuffix("Id") if name in INPUT_OF else "labels") not in issue["told"]:
        return None
    current = current_of(issue, name)
    if name not in ("add_label_ids", "remove_label_ids"):
        return bool(current == value)
    there = set(value) & set(current)
    is_so = there == set(value) if name == "add_label_ids" else not there
    is_seen = bool(there) if name == "remove_label_ids" else is_so
    return is_so if is_seen or len(current) < documents.MOST_LABELS else None


def _seconds(moment: str | None) -> float | None:
    """Since the epoch; None for what is no moment, or has no offset."""
    try:
        found = datetime.fromisoformat(moment) if moment else None
        return found.timestamp() if found is not None and found.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
