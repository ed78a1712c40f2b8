"""What a policy is timed on before it may decide: the largest arguments that each tool admits.

The embedded engine has no time limit and holds the interpreter while it decides, so one slow policy would
stop every call of the process.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import orjson

from gateway.call import Arguments, CallerKind, Principal, Request
from gateway.policy.document import CallFacts, input_document
from gateway.rows import Agent, Tool

MAX_DEPTH = 8

C = TypeVar("C", list[Any], dict[str, Any])
Prepare = Callable[[dict[str, Any]], Mapping[str, Any]]


def timing_documents(
    tools: Iterable[Tool],
    agents: Sequence[Agent] = (),
    preparing: Callable[[Tool], Prepare] = lambda _tool: dict,
) -> Iterator[tuple[str, bytes]]:
    """Each tool's name with each of its largest input documents.

    A tool is judged for the first agent whose row has a grant for it. `preparing` gives the adapter's; when it
    cannot take made-up arguments they are judged as they are.
    """
    granted = _first_granted(agents)
    for tool in tools:
        for document in _documents(tool, granted.get(tool.name), preparing(tool)):
            yield tool.name, document


def _first_granted(agents: Sequence[Agent]) -> dict[str, Agent]:
    """For each tool, the first agent whose row has a grant for it."""
    granted: dict[str, Agent] = {}
    for agent in agents:
        for name in agent.grants:
            granted.setdefault(name, agent)
    return granted


def _documents(tool: Tool, agent: Agent | None, prepare: Prepare) -> Iterator[bytes]:
    for arguments in largest(tool.input_schema, leaves=tool.max_leaves):
        yield _document(tool, agent, _prepared(arguments, prepare))


def _prepared(arguments: dict[str, Any], prepare: Prepare) -> Mapping[str, Any]:
    try:
        return prepare(arguments)
    except Exception:  # noqa: BLE001 - made-up arguments break rules that no schema can say
        return arguments


def _document(tool: Tool, agent: Agent | None, arguments: Mapping[str, Any]) -> bytes:
    name = agent.name if agent is not None else "timing"
    scopes = sorted(tool.requires)
    principal = Principal(
        tenant="timing",
        id=name,
        kind=CallerKind.AGENT,
        agent=name,
        scopes=frozenset(scopes),
        roles=frozenset(),
        claims={},
        proof="socket",
        policy_json=orjson.dumps(
            {
                "tenant": "timing",
                "id": name,
                "kind": "agent",
                "agent": name,
                "scopes": scopes,
                "roles": [],
                "claims": {},
                "proof": "socket",
            }
        ),
    )
    canonical = json.dumps(arguments, separators=(",", ":")).encode()
    judged = Arguments(value=arguments, canonical=canonical, digest="")
    request = Request(tool=tool.name, arguments_json=b"")
    call = CallFacts(call_id="timing", request=request, now=0.0, is_key_given=True, cost=tool.cost)
    return input_document(principal, agent or _agent(tool, scopes), tool, None, judged, call)


def _agent(tool: Tool, scopes: list[str]) -> Agent:
    row = {
        "name": "timing",
        "scopes": scopes,
        "roles": [],
        "groups": [],
        "grants": {tool.name: {}},
        "budgets": [],
        "caps": [],
        "collaborators": [],
    }
    return Agent(
        name="timing",
        tenant="timing",
        tools=frozenset({tool.name}),
        groups=frozenset(),
        scopes=frozenset(scopes),
        roles=frozenset(),
        rate=None,
        budgets=(),
        caps=(),
        collaborators=frozenset(),
        grants={tool.name: {}},
        policy_json=orjson.dumps(row),
    )


def largest(schema: Mapping[str, Any], *, leaves: int = 1000, max_bytes: int = 256 * 1024) -> Iterator[dict[str, Any]]:
    """The largest instances of an object schema: one for each property, in which that one is filled before
    the others share what is left of the leaves and bytes.
    """
    names = list(schema.get("properties", {})) or [""]
    for first in names:
        filler = _Filler(schema, leaves, max_bytes)
        value = filler.fill(_first(schema, first), 0)
        yield value if isinstance(value, dict) else {}


def _first(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    properties = schema.get("properties", {})
    if name not in properties:
        return schema
    return {**schema, "properties": {name: properties[name], **properties}}


class _Filler:
    """Builds one value and keeps count of what it may still hold."""

    def __init__(self, root: Mapping[str, Any], leaves: int, max_bytes: int) -> None:
        self._root = root
        self._leaves = leaves
        self._bytes = max_bytes

    def fill(self, schema: Any, depth: int) -> Any:
        """The largest value of the schema that fits into what is left."""
        schema = self._resolved(schema, depth)
        if "const" in schema:
            return self._leaf(schema["const"])
        if "enum" in schema:
            return self._leaf(max(schema["enum"], key=lambda value: len(str(value))))
        kind = _kind(schema)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind == "string":
            return self._string(schema)
        return self._leaf(_SCALARS.get(kind))

    def _resolved(self, schema: Any, depth: int) -> dict[str, Any]:
        """The schema with its references, `allOf` and first alternative folded in."""
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
            return {"type": "null"}
        folded = dict(schema)
        for _ in range(MAX_DEPTH):
            more = self._alternatives(folded)
            if not more:
                break
            for each in more:
                properties = {**folded.get("properties", {}), **each.get("properties", {})}
                folded = {**folded, **each, **({"properties": properties} if properties else {})}
        return folded

    def _alternatives(self, schema: dict[str, Any]) -> list[Mapping[str, Any]]:
        more = list(schema.pop("allOf", ()))
        for key in ("anyOf", "oneOf"):
            options = schema.pop(key, ())
            more += [max(options, key=lambda option: len(json.dumps(option)))] if options else []
        if "$ref" in schema:
            more.append(self._referred(schema.pop("$ref")))
        return [each for each in more if isinstance(each, Mapping)]

    def _referred(self, reference: str) -> Any:
        here: Any = self._root
        for key in reference.removeprefix("#").strip("/").split("/"):
            here = here.get(key, {}) if key and isinstance(here, Mapping) else here
        return here

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        found = {}
        properties = schema.get("properties", {})
        for index, (name, each) in enumerate(properties.items(), 1):
            if self._leaves > 0:
                kept = min(len(properties) - index, self._leaves - 1)  # a leaf for each of those that follow
                self._leaves -= kept
                found[name] = self.fill(each, depth + 1)
                self._leaves += kept
        more = schema.get("additionalProperties", False)
        if more is not False:
            each = more if isinstance(more, Mapping) else _SHORT
            most = schema.get("maxProperties", self._leaves + len(found))
            while len(found) < most and self._leaves > 0:
                found[f"key{len(found)}"] = self.fill(each, depth + 1)
        return self._container(found)

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        found = [self.fill(each, depth + 1) for each in schema.get("prefixItems", ())]
        most = schema.get("maxItems", self._leaves)
        while len(found) < most and self._leaves > 0:
            found.append(self.fill(schema.get("items", _SHORT), depth + 1))
        return self._container(found)

    def _container(self, value: C) -> C:
        """An empty one counts as a leaf, or a list of them would never end."""
        self._leaves -= not value
        return value

    def _string(self, schema: dict[str, Any]) -> str:
        """As long as it may be, and different from its neighbours, so that sets of them are large too. An
        unbounded one takes a fair part, or a list of them would be a list of one.
        """
        fair = max(32, self._bytes // max(self._leaves, 1))
        most = max(0, min(schema.get("maxLength", fair), self._bytes))
        tail = "@example.com" if schema.get("format") == "email" or "@" in schema.get("pattern", "") else ""
        text = f"{self._leaves}{tail}"
        return str(self._leaf(text.rjust(most, "a")[-most:] if most else ""))

    def _leaf(self, value: Any) -> Any:
        self._leaves -= 1
        self._bytes -= len(str(value))
        return value


_SHORT: Mapping[str, Any] = {"type": "string", "maxLength": 16}
_SCALARS: Mapping[str, Any] = {"number": 9007199254740991, "integer": 9007199254740991, "boolean": True}
_BY_SIZE = ("object", "array", "string", "number", "integer", "boolean", "null")


def _kind(schema: Mapping[str, Any]) -> str:
    kinds = schema.get("type", ())
    named = [kinds] if isinstance(kinds, str) else list(kinds)
    if not named:
        return "object" if "properties" in schema else "array" if "items" in schema else "string"
    return next((kind for kind in _BY_SIZE if kind in named), "null")
