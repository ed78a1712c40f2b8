"""What a commit holds under some paths, read folder by folder: a whole tree may be too large to read."""

from collections.abc import Iterable, Mapping
from typing import Any

from adapters.base import ErrorKind, Invocation
from adapters.github.answers import item_of, items_of, text, whole
from adapters.github.changes import Entry, impossible
from adapters.github.limits import CORE
from adapters.github.places import in_repository
from adapters.transport.api import Api
from adapters.transport.calls import Call
from adapters.transport.replies import Reply

_FOLDER = "tree"


class Trees:
    """Reads the trees of one repository for one invocation, each once."""

    def __init__(self, api: Api, invocation: Invocation) -> None:
        self._api = api
        self._invocation = invocation
        self._folders: dict[str, Mapping[str, Entry]] = {}

    async def entries(self, tree: str, paths: Iterable[str]) -> dict[str, Entry | None]:
        """By path what the tree has there; None for nothing.

        Raises `AdapterError`: what the vendor's answers mean, and `invalid` for a path that leads through a file.
        """
        return {path: await self._entry(tree, path) for path in paths}

    async def _entry(self, tree: str, path: str) -> Entry | None:
        *folders, name = path.split("/")
        for folder in folders:
            entry = (await self._folder(tree)).get(folder)
            if entry is None:
                return None
            if entry.kind != _FOLDER:
                message = "A path leads through what is a file, a link or a submodule on the branch."
                raise impossible(ErrorKind.INVALID, message)
            tree = entry.sha
        return (await self._folder(tree)).get(name)

    async def _folder(self, tree: str) -> Mapping[str, Entry]:
        if tree not in self._folders:
            call = Call(path=in_repository(self._invocation.arguments, "/git/trees/{}", tree))
            self._folders[tree] = _read(await self._api.ask(self._invocation, call, limit=CORE))
        return self._folders[tree]


def _read(reply: Reply) -> Mapping[str, Entry]:
    if item_of(reply).get("truncated") is True:
        message = "A folder has more files than GitHub lists, so nothing is committed into it."
        raise impossible(ErrorKind.TOO_LARGE, message)
    return {entry[0]: entry[1] for item in items_of(reply, "tree") if (entry := _named(item)) is not None}


def _named(item: Mapping[str, Any]) -> tuple[str, Entry] | None:
    path, mode, kind, sha = (text(item.get(name)) for name in ("path", "mode", "type", "sha"))
    if path is None or mode is None or kind is None or sha is None:
        return None
    return path, Entry(mode=mode, kind=kind, sha=sha, size=whole(item.get("size")))
