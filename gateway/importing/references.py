"""References inside of a document, followed within bounds. Nothing outside of it is ever looked at."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from gateway.errors import StartError
from gateway.importing.reasons import Inexpressible, Skipped

MAX_CHAIN = 16
MAX_STEPS = 1_000_000
"""Parts of schemas that are looked at for one document: a minute's work."""


class References:
    """The references of one document, and how much work has gone into it."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._known: dict[str, Any] = {}
        self._steps = 0

    def spend(self, steps: int = 1) -> None:
        """Count work. Raises `StartError` when the document asks for more than any that is meant."""
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise StartError("the description takes too much work, as its parts refer to one another too often; cut it")

    def follow(self, node: Any) -> Mapping[str, Any]:
        """The object that a node is, or that its chain of references ends in; an empty one for anything else.

        Raises `Skipped` for a reference to something outside of the document, `Inexpressible` for one that leads
        nowhere.
        """
        for _ in range(MAX_CHAIN):
            if not isinstance(node, Mapping):
                return {}
            if "$ref" not in node:
                return node
            node = self.target(node["$ref"])
        raise Inexpressible("refers to itself")

    def target(self, reference: Any) -> Any:
        """What one reference leads to. Raises as `follow` does."""
        self.spend()
        if not isinstance(reference, str):
            raise Inexpressible("has a reference that is no text")
        if reference not in self._known:
            self._known[reference] = self._find(reference)
        return self._known[reference]

    def _find(self, reference: str) -> Any:
        if reference[:1] != "#":
            raise Skipped("it refers to something outside of the document, which is never fetched")
        if len(reference) > 1000 or (reference != "#" and reference[1] != "/"):
            raise Inexpressible("has a reference that is no pointer into the document")
        node: Any = self._root
        for segment in unquote(reference).split("/")[1:]:
            node = _below(node, segment.replace("~1", "/").replace("~0", "~"))
        if node is None:
            raise Inexpressible("refers to something that is not there")
        return node


def _below(node: Any, key: str) -> Any:
    if isinstance(node, Mapping):
        return node.get(key)
    if isinstance(node, list) and key.isascii() and key.isdecimal() and len(key) < 7 and int(key) < len(node):
        return node[int(key)]
    return None


def mapping(value: Any) -> Mapping[str, Any]:
    """The value when it is an object; else an empty one."""
    return value if isinstance(value, Mapping) else {}


def listed(value: Any) -> list[Any]:
    """The value when it is a list; else an empty one."""
    return value if isinstance(value, list) else []


def texts(value: Any) -> list[str]:
    """The texts in a list."""
    return [one for one in listed(value) if isinstance(one, str)]
