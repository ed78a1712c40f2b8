"""Other people's MCP servers as tools: a row binds one tool of one server, as somebody has accepted it.

What an agent sees is the row's own text. What the server publishes is only compared with the row's pin, and what it
answers is a stranger's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType

from adapters.base import AdapterError, Clock, ErrorKind, Happened, Invocation, Operation, Output, Target
from adapters.mcp_upstream.answers import output_of
from adapters.mcp_upstream.base import Session, Sessions
from adapters.mcp_upstream.looks import Looks
from adapters.mcp_upstream.offers import offers_of
from adapters.mcp_upstream.options import OPERATION, Accepted, accepted_by
from adapters.mcp_upstream.preparation import prepare
from adapters.recipes import Offer, Recipe

_OTHER_SERVER = "Another server answers than the one whose tool was accepted"
_GONE = "The upstream server does not offer this tool any more"
_TWICE = "The upstream server offers several tools of this name, and nobody can say which is meant"
_CHANGED = "The upstream server describes this tool otherwise than when it was accepted"
_REVIEW = "so nothing was sent. An operator has to review what it offers (`tollhouse registry review`)."


class McpUpstreamAdapter:
    """Calls tools of MCP servers. It owns its sessions and closes them."""

    name = "mcp_upstream"
    recipes: Sequence[str] = (OPERATION,)
    operations: Mapping[str, Operation] = MappingProxyType({})

    def __init__(self, sessions: Sessions, clock: Clock, target_problems: Callable[[Target], list[str]]) -> None:
        """`target_problems` says what is wrong with a connection for whoever opens the sessions."""
        self._sessions = sessions
        self._target_problems = target_problems
        self._looks = Looks(clock)

    def make(self, recipe: Recipe) -> Operation:
        """The operation that calls the tool of a row. Raises `RecipeProblem`.

        It has no `reconcile`: MCP has no way to ask a server what became of a call.
        """
        accepted = accepted_by(recipe)
        return Operation(
            name=OPERATION,
            arguments=dict,
            side_effect=accepted.side_effect,
            prepare=prepare,
            invoke=partial(self._call, accepted),
            upstream=accepted.label,
        )

    async def offers(self, invocation: Invocation) -> Sequence[Offer]:
        """Every tool that the server lists now, by name. Raises `AdapterError`."""
        with _nothing_called():
            session = await self._sessions.of(invocation)
            tools = await self._looks.tools(session, invocation.deadline)
            return offers_of(tools, session.server.name)

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a connection to an MCP server; empty when all is well."""
        return self._target_problems(target)

    @property
    def open_circuits(self) -> int:
        """How many servers are left alone for the moment."""
        return self._sessions.open_circuits

    async def close(self) -> None:
        """End every session."""
        await self._sessions.close()

    async def _call(self, accepted: Accepted, invocation: Invocation) -> Output:
        """A server that was started anew may be another one: before its session is used again, it is looked at."""
        session, changes = await self._looked_at(accepted, invocation)
        try:
            return await self._answer(accepted, session, invocation)
        except AdapterError as error:
            is_anew = error.kind is ErrorKind.UNAVAILABLE and session.tools_changed != changes
            if not is_anew or error.happened is not Happened.NO:
                raise
        session, _ = await self._looked_at(accepted, invocation)
        return await self._answer(accepted, session, invocation)

    async def _answer(self, accepted: Accepted, session: Session, invocation: Invocation) -> Output:
        result = await session.call(
            accepted.tool,
            invocation.arguments,
            invocation.deadline,
            invocation.progress,
            has_effect=accepted.has_effect,
        )
        return output_of(result, accepted)

    async def _looked_at(self, accepted: Accepted, invocation: Invocation) -> tuple[Session, int]:
        """A session whose server still offers what was accepted, and how often its tools had changed before that."""
        with _nothing_called():
            session = await self._sessions.of(invocation)
            changes = session.tools_changed
            await self._check_unchanged(accepted, session, invocation.deadline)
        return session, changes

    async def _check_unchanged(self, accepted: Accepted, session: Session, deadline: float) -> None:
        if accepted.server and session.server.name != accepted.server:
            raise _changed(_OTHER_SERVER)
        pins = (await self._looks.pins(session, deadline)).get(accepted.tool, ())
        if pins != (accepted.pin,):
            raise _changed(_CHANGED if len(pins) == 1 else _TWICE if pins else _GONE)


def _changed(what: str) -> AdapterError:
    return AdapterError(ErrorKind.CHANGED, f"{what}, {_REVIEW}", happened=Happened.NO)


@contextmanager
def _nothing_called() -> Iterator[None]:
    """Whatever fails in here, no tool has been called."""
    try:
        yield
    except AdapterError as error:
        error.happened = Happened.NO
        raise
