"""Several files in one commit on a branch, through GitHub's Git database.

Blobs, a tree and a commit are made first: objects that nothing points to, of which nobody sees anything. Only then the
branch is moved to the commit, in one step and never by force: that is the effect. Whatever fails before it, nothing
happened.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.base import AdapterError, ErrorKind, Happened, Invocation, Output
from adapters.github.answers import item_of, sha_of, url
from adapters.github.changes import Change, changes_to, impossible
from adapters.github.limits import CORE
from adapters.github.marks import with_trailer
from adapters.github.places import below, in_repository
from adapters.github.trees import Trees
from adapters.transport.api import Api
from adapters.transport.calls import Call
from adapters.transport.replies import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class _Base:
    """What the commit is put upon."""

    commit: str
    tree: str
    is_new_branch: bool


class Commits:
    """Commits files."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def commit_files(self, invocation: Invocation) -> Output:
        """One commit with every change, and the branch at it."""
        arguments = invocation.arguments
        base, changes = await self._plan(invocation)
        made = await self._commit(invocation, base, changes)
        commit = sha_of(made, made.value)
        moved = await self._move(invocation, base, commit)
        structured = {
            "commit": commit,
            "branch": arguments["branch"],
            "previous_head": base.commit,
            "is_new_branch": base.is_new_branch,
            "files": [{"path": change.path, "change": change.what} for change in changes],
            "url": url(item_of(made).get("html_url")),
        }
        receipt = f"Committed {len(changes)} files to a branch of {arguments['full_name']} as {commit[:10]}."
        return Output(structured=structured, receipt=receipt, attempts=moved.attempts)

    async def preview(self, invocation: Invocation) -> dict[str, Any]:
        """What each file is now and would be: paths, sizes, and whether it is new."""
        base, changes = await self._plan(invocation)
        before = [{"path": change.path, "bytes": change.was_bytes} for change in changes if change.what != "added"]
        after = [
            {
                "path": change.path,
                "change": change.what,
                "bytes": None if change.data is None else len(change.data),
            }
            for change in changes
        ]
        return {
            "was": {"head": base.commit, "files": before},
            "will_be": {"is_new_branch": base.is_new_branch, "files": after},
        }

    async def _plan(self, invocation: Invocation) -> tuple[_Base, Sequence[Change]]:
        arguments = invocation.arguments
        base = await self._base(invocation)
        if arguments["expected_head"] not in (None, base.commit):
            message = "The branch is not at `expected_head` any more; read its files again before the next try."
            raise impossible(ErrorKind.CONFLICT, message)
        entries = await Trees(self._api, invocation).entries(base.tree, arguments["paths"])
        return base, changes_to(arguments, entries)

    async def _base(self, invocation: Invocation) -> _Base:
        arguments = invocation.arguments
        try:
            head, is_new = await self._head(invocation, arguments["branch"]), False
        except AdapterError as error:
            if error.kind is not ErrorKind.NOT_FOUND or arguments["start_from"] is None:
                raise
            head, is_new = await self._head(invocation, arguments["start_from"]), True
        call = Call(path=in_repository(arguments, "/git/commits/{}", head))
        reply = await self._api.ask(invocation, call, limit=CORE)
        return _Base(commit=head, tree=sha_of(reply, item_of(reply).get("tree")), is_new_branch=is_new)

    async def _head(self, invocation: Invocation, branch: str) -> str:
        call = Call(path=below(invocation.arguments, "/git/ref/heads", branch))
        reply = await self._api.ask(invocation, call, limit=CORE)
        return sha_of(reply, item_of(reply).get("object"))

    async def _commit(self, invocation: Invocation, base: _Base, changes: Sequence[Change]) -> Reply:
        message = with_trailer(invocation.arguments["message"], invocation.effect_id)
        tree = await self._tree(invocation, base, changes)
        value = {"message": message, "tree": tree, "parents": [base.commit]}
        return await self._make(invocation, "/git/commits", value)

    async def _tree(self, invocation: Invocation, base: _Base, changes: Sequence[Change]) -> str:
        entries = [await self._entry(invocation, change) for change in changes if change.what != "unchanged"]
        reply = await self._make(invocation, "/git/trees", {"base_tree": base.tree, "tree": entries})
        return sha_of(reply, reply.value)

    async def _entry(self, invocation: Invocation, change: Change) -> Mapping[str, Any]:
        entry = {"path": change.path, "mode": change.mode, "type": "blob"}
        if change.data is None:
            return {**entry, "sha": None}
        if change.is_text:
            return {**entry, "content": change.data.decode()}
        content = base64.b64encode(change.data).decode()
        reply = await self._make(invocation, "/git/blobs", {"content": content, "encoding": "base64"})
        return {**entry, "sha": sha_of(reply, reply.value)}

    async def _make(self, invocation: Invocation, form: str, value: Mapping[str, Any]) -> Reply:
        """An object that nothing points to: it changes nothing, and may be made twice."""
        call = Call(method="POST", path=in_repository(invocation.arguments, form), json=value, is_read=True)
        return await self._api.ask(invocation, call, limit=CORE)

    async def _move(self, invocation: Invocation, base: _Base, commit: str) -> Reply:
        """The effect itself."""
        arguments = invocation.arguments
        if base.is_new_branch:
            value = {"ref": f"refs/heads/{arguments['branch']}", "sha": commit}
            call = Call(method="POST", path=in_repository(arguments, "/git/refs"), json=value)
        else:
            path = below(arguments, "/git/refs/heads", arguments["branch"])
            call = Call(method="PATCH", path=path, json={"sha": commit, "force": False})
        reply = await self._api.ask(invocation, call, limit=CORE)
        if sha_of(reply, item_of(reply).get("object")) != commit:
            message = "GitHub took the commit, and the branch is at another one all the same; read it again."
            raise reply.error(ErrorKind.CONFLICT, message, happened=Happened.UNKNOWN)
        return reply
