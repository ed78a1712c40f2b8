"""What is written to Linear."""

import hashlib
import re
import uuid
from collections.abc import Mapping
from typing import Any

from adapters.base import AdapterError, ErrorKind, Happened, Invocation, Output
from adapters.linear import answers, documents
from adapters.linear.documents import Document
from adapters.linear.graphql import Answer, ask_for, carry_out, unreadable
from adapters.transport.api import Api
from adapters.transport.replies import Reply

INPUT_OF: Mapping[str, str] = {
    "title": "title",
    "description": "description",
    "priority": "priority",
    "state_id": "stateId",
    "assignee_id": "assigneeId",
    "project_id": "projectId",
    "cycle_id": "cycleId",
    "due_date": "dueDate",
}
"""What an issue can be set to, as arguments name it and as Linear does."""
_IDENTIFIER = re.compile(r"[A-Z][A-Z0-9]{0,15}-[0-9]{1,9}")


class Writing:
    """The operations that change something.

    Linear has no idempotency key, but takes the id of what is made from whoever makes it: ours comes of the effect, so
    that what an attempt made can be found, and the same effect never makes two.
    """

    def __init__(self, api: Api) -> None:
        self._api = api

    async def create_issue(self, invocation: Invocation) -> Output:
        """The issue. One that is there by our id already is the one that this very effect made."""
        given = invocation.arguments
        values = {**_set(given), "parentId": given["parent"], "labelIds": given["label_ids"] or None}
        made = {"id": issue_id(invocation.effect_id), "teamId": given["team_id"]}
        made |= {name: value for name, value in values.items() if value is not None}
        try:
            answer = await carry_out(self._api, invocation, documents.CREATE_ISSUE, {"input": made}, "issue")
        except AdapterError as error:
            answer = await self._made(invocation, documents.READ_ISSUE, made["id"], error)
        return _issue_output(answer.value, answer.reply, "Created")

    async def update_issue(self, invocation: Invocation) -> Output:
        """The issue as it is now."""
        variables = {"id": invocation.arguments["issue"], "input": changes_of(invocation.arguments)}
        answer = await carry_out(self._api, invocation, documents.UPDATE_ISSUE, variables, "issue")
        return _issue_output(answer.value, answer.reply, "Updated")

    async def comment_on_issue(self, invocation: Invocation) -> Output:
        """The comment. One that is there by our id already is the one that this very effect made."""
        given = invocation.arguments
        made = {"id": comment_id(invocation.effect_id), "issueId": given["issue"], "body": given["body"]}
        try:
            answer = await carry_out(self._api, invocation, documents.CREATE_COMMENT, {"input": made}, "comment")
        except AdapterError as error:
            answer = await self._made(invocation, documents.READ_COMMENT, made["id"], error)
        found = answers.written_comment(answer.value)
        if found is None:
            unreadable(answer.reply, is_done=True)
        where = found["issue_identifier"]
        receipt = f"Commented on issue {where}." if _is_identifier(where) else "Commented on an issue of Linear."
        return Output(structured=found, receipt=receipt, attempts=answer.reply.attempts)

    async def preview_update(self, invocation: Invocation) -> Any:
        """What would change: as it is, and as it would be."""
        given = invocation.arguments
        answer = await ask_for(self._api, invocation, documents.READ_ISSUE, {"id": given["issue"]})
        node = answers.issue(answer.value)
        if node is None:
            unreadable(answer.reply)
        current = {**node, "description": answers.text(answer.value.get("description"))}
        named = {"issue": current["identifier"], "title": current["title"]}
        wanted = wanted_of(given)
        return {"was": named | _shown(current, wanted), "will_be": named | wanted}

    async def _made(self, invocation: Invocation, document: Document, made: str, objection: AdapterError) -> Answer:
        """What is there by our id, if Linear may have objected to a second one. Raises the objection when it was about
        something else; nobody knows what happened when Linear has something already, and cannot be asked what.
        """
        if objection.kind not in (ErrorKind.CONFLICT, ErrorKind.INVALID) or objection.happened is not Happened.NO:
            raise objection
        try:
            return await ask_for(self._api, invocation, document, {"id": made})
        except AdapterError as error:
            # A question that is refused like the write was says that neither was about what is there.
            if objection.kind is ErrorKind.CONFLICT and error.kind not in (ErrorKind.NOT_FOUND, ErrorKind.CONFLICT):
                objection.happened = Happened.UNKNOWN
            raise objection from error


def issue_id(effect_id: str) -> str:
    """The id of the issue that an effect makes."""
    return _uuid("issue", effect_id)


def comment_id(effect_id: str) -> str:
    """The id of the comment that an effect makes."""
    return _uuid("comment", effect_id)


def changes_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The prepared arguments of an update as Linear's `IssueUpdateInput`: null is what is taken away."""
    changes = {name: value for name, value in _set(arguments).items() if value is not None}
    changes |= {INPUT_OF[name]: None for name in arguments["clear"]}
    for name, labels in (("addedLabelIds", "add_label_ids"), ("removedLabelIds", "remove_label_ids")):
        if arguments[labels]:
            changes[name] = arguments[labels]
    return changes


def wanted_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What an update asks for, by the names of its arguments."""
    wanted = {name: arguments[name] for name in INPUT_OF if arguments[name] is not None}
    wanted |= dict.fromkeys(arguments["clear"])
    return wanted | {name: arguments[name] for name in ("add_label_ids", "remove_label_ids") if arguments[name]}


def current_of(issue: Mapping[str, Any], name: str) -> Any:
    """What an issue, as agents are told of it, has for an argument's name."""
    if name.endswith("label_ids"):
        return [label["id"] for label in issue["labels"]]
    if name == "priority":
        return answers.PRIORITIES.index(issue["priority"]) if issue["priority"] in answers.PRIORITIES else None
    if name.endswith("_id"):
        return (issue[name.removesuffix("_id")] or {}).get("id")
    return issue[name]


def _shown(issue: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """What an issue has for each of these, with names where there are some beside the ids."""
    shown = {}
    for name in names:
        if name.endswith("label_ids"):
            shown["labels"] = issue["labels"]
        elif name.endswith("_id"):
            shown[name.removesuffix("_id")] = issue[name.removesuffix("_id")]
        else:
            shown[name] = current_of(issue, name)
    return shown


def _set(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {field: arguments[name] for name, field in INPUT_OF.items()}


def _issue_output(node: Any, reply: Reply, done: str) -> Output:
    found = answers.issue(node)
    if found is None:
        unreadable(reply, is_done=True)
    what = found["identifier"] if _is_identifier(found["identifier"]) else "of Linear"
    return Output(structured=found, receipt=f"{done} issue {what}.", attempts=reply.attempts)


def _is_identifier(text: str | None) -> bool:
    return text is not None and _IDENTIFIER.fullmatch(text) is not None


def _uuid(kind: str, effect_id: str) -> str:
    digest = hashlib.sha256(f"tollhouse linear {kind} {effect_id}".encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))
