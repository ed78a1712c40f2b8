"""Arguments that a server wants in headers too (`x-mcp-header`), so that what stands between can route by them.

Only in the stateless revision over HTTP. A tool that says so in a way that is not allowed is not listed at all: nobody
could call it as its server wants.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[str, ...]
Headers = Mapping[Path, str]
"""By the path of an argument: the name of its header."""

_Node = tuple[Path | None, object, bool]
"""A path, what is there, and whether its keys are names."""
_KEY = "x-mcp-header"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}", re.ASCII)
_PLAIN = re.compile(r"[\x20-\x7e]*")
_TYPES = frozenset({"string", "integer", "boolean"})
_DATA = frozenset({"default", "examples", "const", "enum"})
_NAMES = frozenset({"$defs", "definitions", "patternProperties", "dependentSchemas"})
_MAX_HEADERS = 32
_MAX_VALUE = 4096


class NotAllowed(Exception):  # noqa: N818 - the server's mistake, and its tool is not listed
    """A tool's schema wants a header where it may not."""


def standard(method: str, params: Mapping[str, Any]) -> dict[str, str]:
    """The headers that every request of the stateless revision has."""
    name = params.get("name") if method == "tools/call" else None
    headers = {"Mcp-Method": method}
    return {**headers, "Mcp-Name": encoded(name)} if isinstance(name, str) else headers


def wanted(tool: Mapping[str, Any]) -> Headers:
    """The headers that a tool's arguments are mirrored into. Raises `NotAllowed`."""
    found: dict[Path, str] = {}
    for path, node in _nodes(tool.get("inputSchema")):
        if _KEY not in node:
            continue
        name = node[_KEY]
        if not path or not isinstance(name, str) or not _TOKEN.fullmatch(name) or node.get("type") not in _TYPES:
            raise NotAllowed
        found[path] = name
    if len({name.lower() for name in found.values()}) != len(found) or len(found) > _MAX_HEADERS:
        raise NotAllowed
    return found


def mirrored(headers: Headers, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers for these arguments. One that is absent, or no plain value, or too long, has none."""
    values = {f"Mcp-Param-{name}": _value(arguments, path) for path, name in headers.items()}
    return {name: encoded(value) for name, value in values.items() if value is not None}


def encoded(value: str) -> str:
    """As it is when it can stand in a header, or in base64 with a mark that says so."""
    is_marked = value.startswith("=?base64?") and value.endswith("?=")
    if _PLAIN.fullmatch(value) and value == value.strip() and not is_marked:
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def _value(arguments: Mapping[str, Any], path: Path) -> str | None:
    value: Any = arguments
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value) if isinstance(value, str | int) else None
    return text if text is not None and len(text) <= _MAX_VALUE else None


def _nodes(schema: object) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Every object in a schema, with the path of the argument that it describes; an empty path where it is of none.

    A property that is called like the key is no wish: what is inside `properties` are names.
    """
    waiting: list[_Node] = [((), schema, False)]
    while waiting:
        path, node, is_names = waiting.pop()
        if isinstance(node, list):
            waiting += [(None, one, False) for one in node]
        elif isinstance(node, dict):
            if not is_names:
                yield path or (), node
            waiting += _named(path, node) if is_names else _keywords(path, node)


def _named(path: Path | None, names: Mapping[str, Any]) -> Iterator["_Node"]:
    return ((None if path is None else (*path, name), inner, False) for name, inner in names.items())


def _keywords(path: Path | None, node: Mapping[str, Any]) -> Iterator["_Node"]:
    for keyword, inner in node.items():
        if keyword == "properties":
            yield path, inner, True
        elif keyword not in _DATA:
            yield None, inner, keyword in _NAMES
