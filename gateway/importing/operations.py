"""The operations that a document describes, as it describes them, and which of them somebody wants."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Any

from gateway.errors import StartError
from gateway.importing.reasons import Inexpressible, Skipped
from gateway.importing.references import References, listed, mapping, texts

METHODS = ("get", "head", "post", "put", "patch", "delete")
UNUSUAL = ("options", "trace")
MAX_OPERATIONS = 10_000
MAX_PARAMETERS = 200
MAX_PATH = 1000

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """One operation of a document."""

    method: str
    """In capitals."""
    path: str
    id: str
    """As the document has it; empty for none."""
    tags: tuple[str, ...] = ()
    own: Json = field(repr=False)
    shared: Json = field(repr=False)
    """What its path says of every operation there."""

    @property
    def key(self) -> tuple[str, str]:
        """What no other operation of the document has."""
        return self.method, self.path

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.method} {self.path}"[:200]


def operations_of(document: Json, references: References) -> list[Described]:
    """Every operation, in the document's order. Raises `StartError` for more than anybody would look through."""
    found: list[Described] = []
    for path, item in mapping(document.get("paths")).items():
        if not path.startswith("x-"):
            found += _under(path, item, references)
        if len(found) > MAX_OPERATIONS or len(path) > MAX_PATH:
            what = f"more than {MAX_OPERATIONS} operations" if len(path) <= MAX_PATH else "a path that has no end"
            raise StartError(f"the description has {what}; cut it")
    return found


def _under(path: str, item: Any, references: References) -> Iterator[Described]:
    """The operations of one path. Of a path that cannot be read its own keys are gone through, so that it is told."""
    try:
        shared = references.follow(item)
    except (Inexpressible, Skipped):
        shared = mapping(item)
        if not shared.keys() & {*METHODS, *UNUSUAL}:  # all that is known is that something is there
            yield Described(method="ANY", path=path, id="", own={}, shared=shared)
    for method in (*METHODS, *UNUSUAL):
        own = shared.get(method)
        if isinstance(own, Mapping):
            yield _described(method, path, own, shared)


def _described(method: str, path: str, own: Json, shared: Json) -> Described:
    id = own.get("operationId")  # noqa: A001 - it is what OpenAPI calls it
    return Described(
        method=method.upper(),
        path=path,
        id=id if isinstance(id, str) else "",
        tags=tuple(texts(own.get("tags"))[:10]),
        own=own,
        shared=shared,
    )


def check_possible(operation: Described, document: Json, references: References) -> None:
    """Nothing when a plain request can be the operation. Raises `Skipped`."""
    references.follow(operation.shared)
    if operation.method not in {method.upper() for method in METHODS}:
        raise Skipped(f"{operation.method} is not offered")
    if operation.own.get("callbacks"):
        raise Skipped("it is answered later, by a callback")
    if "101" in mapping(operation.own.get("responses")):
        raise Skipped("it goes on as a WebSocket")
    servers = listed(operation.own.get("servers")) or listed(operation.shared.get("servers"))
    if servers and servers[:1] != listed(document.get("servers"))[:1]:
        raise Skipped("it is served at another address than the rest; it needs a connection of its own")


def parameters_of(operation: Described, references: References) -> list[Json]:
    """Its parameters and those of its path, references followed; of two of one name and place its own."""
    found: dict[tuple[str, str], Json] = {}
    every = [*listed(operation.shared.get("parameters")), *listed(operation.own.get("parameters"))]
    if len(every) > MAX_PARAMETERS:
        raise Skipped(f"it has more than {MAX_PARAMETERS} parameters")
    for part in every:
        parameter = references.follow(part)
        name, where = parameter.get("name"), parameter.get("in")
        if not isinstance(name, str) or not isinstance(where, str) or not name:
            raise Skipped("it has a parameter without a name or a place")
        found[where, name] = parameter
    return list(found.values())


class Choice:
    """Which operations somebody wants: `tag:NAME`, `path:GLOB`, or a glob for a tool's name or an operationId."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._tags = {one.removeprefix("tag:").lower() for one in wanted if one.startswith("tag:")}
        self._paths = [_glob(one.removeprefix("path:")) for one in wanted if one.startswith("path:")]
        self._names = [_glob(one) for one in wanted if not one.startswith(("tag:", "path:"))]
        self._is_everything = not wanted

    def takes(self, operation: Described, name: str) -> bool:
        """Whether one of what is wanted is this."""
        return (
            self._is_everything
            or not self._tags.isdisjoint(tag.lower() for tag in operation.tags)
            or any(glob.fullmatch(operation.path) for glob in self._paths)
            or any(glob.fullmatch(each) for glob in self._names for each in (name, operation.id) if each)
        )


def _glob(text: str) -> re.Pattern[str]:
    return re.compile(translate(text))
