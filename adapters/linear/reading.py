"""What is read from Linear."""

from collections.abc import Mapping
from typing import Any

from adapters.base import Invocation, Output
from adapters.linear import answers, documents
from adapters.linear.arguments import filter_of
from adapters.linear.documents import Document
from adapters.linear.graphql import Answer, ask, ask_for, unreadable
from adapters.transport.api import Api


class Reading:
    """The operations that change nothing."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def search_issues(self, invocation: Invocation) -> Output:
        """Issues, the newest first."""
        variables = {"filter": filter_of(invocation.arguments), **_page(invocation)}
        answer = await ask(self._api, invocation, documents.SEARCH_ISSUES, variables)
        of = ("search_issues", invocation.arguments)
        return _listed(answer, answers.page(answer, answer.value, "issues", answers.issue, of), "issue")

    async def get_issue(self, invocation: Invocation) -> Output:
        """One issue with its text and its first thirty comments."""
        answer = await ask_for(self._api, invocation, documents.GET_ISSUE, {"id": invocation.arguments["issue"]})
        found = answers.issue(answer.value)
        if found is None:
            unreadable(answer.reply)
        told = answer.value.get("comments")
        comments = told if isinstance(told, Mapping) else {}
        nodes, following = comments.get("nodes"), comments.get("pageInfo")
        read = [answers.comment(node) for node in nodes] if isinstance(nodes, list) else []
        structured = {
            **found,
            "description": answers.text(answer.value.get("description")),
            "comments": [one for one in read if one is not None],
            "has_more_comments": isinstance(following, Mapping) and following.get("hasNextPage") is True,
        }
        return Output(structured=structured, receipt="Read one issue of Linear.", attempts=answer.reply.attempts)

    async def list_teams(self, invocation: Invocation) -> Output:
        """Teams with their states, labels and members."""
        answer = await ask(self._api, invocation, documents.LIST_TEAMS, _page(invocation))
        of = ("list_teams", invocation.arguments)
        return _listed(answer, answers.page(answer, answer.value, "teams", answers.team, of), "team")

    async def list_projects(self, invocation: Invocation) -> Output:
        """Projects, of one team or of all."""
        every, of_team = documents.LIST_PROJECTS, documents.LIST_TEAM_PROJECTS
        answer, connection = await self._of_team(invocation, every, of_team, "projects")
        of = ("list_projects", invocation.arguments)
        return _listed(answer, answers.page(answer, connection, "projects", answers.project, of), "project")

    async def list_cycles(self, invocation: Invocation) -> Output:
        """Cycles, of one team or of all."""
        every, of_team = documents.LIST_CYCLES, documents.LIST_TEAM_CYCLES
        answer, connection = await self._of_team(invocation, every, of_team, "cycles")
        of = ("list_cycles", invocation.arguments)
        return _listed(answer, answers.page(answer, connection, "cycles", answers.cycle, of), "cycle")

    async def _of_team(
        self, invocation: Invocation, every: Document, of_team: Document, name: str
    ) -> tuple[Answer, Any]:
        team = invocation.arguments["team_id"]
        if team is None:
            answer = await ask(self._api, invocation, every, _page(invocation))
            return answer, answer.value
        answer = await ask_for(self._api, invocation, of_team, {"team": team, **_page(invocation)})
        return answer, answer.value.get(name) if isinstance(answer.value, Mapping) else None


def _page(invocation: Invocation) -> dict[str, Any]:
    return {"first": invocation.arguments["limit"], "after": invocation.arguments["page"]}


def _listed(answer: Answer, structured: dict[str, Any], noun: str) -> Output:
    count = len(structured[f"{noun}s"])
    more = ", and there are more" if structured["next_cursor"] else ""
    receipt = f"Found {count} {noun}{'' if count == 1 else 's'} in Linear{more}."
    return Output(structured=structured, receipt=receipt, attempts=answer.reply.attempts)
