"""Linear's schema, read back out of the TypeScript types that Linear generates from it and publishes in its SDK.

The schema itself is in no package. The types hold all that a request can be checked by: fields, their arguments,
inputs, enumerations, what may be null and what may be left out.
"""

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

ROOTS = ("Query", "Mutation")
_BEGIN = re.compile(r"(?:declare |export )*(type|enum) (\w+) (?:= )?([\w& ]*)\{")
_UNION = re.compile(r"(?:declare |export )*type (\w+) = ([\w| ]+);")
_FIELD = re.compile(r"  \"?(\w+)\"?\??: (.+);")
_MEMBER = re.compile(r'  \w+ = "(\w+)"')
_BUILT_IN = frozenset({"ID", "String", "Boolean", "Int", "Float"})


@dataclass
class Types:
    """What the file declares."""

    fields: dict[str, dict[str, str]]
    interfaces: dict[str, list[str]]
    unions: dict[str, list[str]]
    enums: dict[str, list[str]]
    written: dict[str, str] = field(default_factory=dict)
    """The schema so far, by the name of each type."""


def schema_of(text: str) -> str:
    """The part of the schema that can be reached from queries and mutations, in GraphQL's own language."""
    types = _read(text)
    left = [(name, "type") for name in ROOTS]
    while left:
        name, kind = left.pop()
        if name not in types.written and name not in _BUILT_IN:
            types.written[name], found = _written(types, name, kind)
            left += found
    return "\n".join(types.written.values())


def _read(text: str) -> Types:
    """Line by line: a declaration ends with the first line that begins with a closing brace."""
    types = Types({}, {}, {}, {})
    lines = iter(text.splitlines())
    for line in lines:
        begin, union = _BEGIN.fullmatch(line), _UNION.fullmatch(line)
        if union:
            types.unions[union[1]] = union[2].replace("|", " ").split()
        if begin:
            kind, name, parents = begin.groups()
            body = list(itertools.takewhile(lambda inner: not inner.startswith("}"), lines))
            if kind == "enum":
                types.enums[name] = [found[1] for found in map(_MEMBER.match, body) if found]
            else:
                types.interfaces[name] = parents.replace("&", " ").split()
                fields = [found for found in map(_FIELD.fullmatch, body) if found]
                types.fields[name] = {found[1]: found[2] for found in fields if found[1] != "__typename"}
    return types


def _written(types: Types, name: str, kind: str) -> tuple[str, list[tuple[str, str]]]:
    """A type in GraphQL's language, and what it refers to."""
    if name in types.enums:
        return f"enum {name} {{ {' '.join(types.enums[name])} }}", []
    if name in types.unions:
        members = types.unions[name]
        return f"union {name} = {' | '.join(members)}", [(member, "type") for member in members]
    if name not in types.fields:
        return f"scalar {name}", []
    if kind == "input":
        return f"input {name} {{ {_inputs(types.fields[name])} }}", _inner(types.fields[name].values(), "input")
    return _object(types, name)


def _object(types: Types, name: str) -> tuple[str, list[tuple[str, str]]]:
    """With what every interface of its has as well."""
    parents = [parent for parent in types.interfaces[name] if parent in types.fields]
    fields = {key: kind for one in (*parents, name) for key, kind in types.fields[one].items()}
    found = [(parent, "type") for parent in parents] + _inner(fields.values(), "type")
    lines = []
    for key, kind in fields.items():
        arguments = types.fields.get(f"{name}{key[0].upper()}{key[1:]}Args", {})
        found += _inner(arguments.values(), "input")
        lines.append(f"{key}{f'({_inputs(arguments)})' if arguments else ''}: {graphql_type(kind)}")
    is_interface = any(name in parents for parents in types.interfaces.values())
    implements = f" implements {' & '.join(parents)}" if parents else ""
    found += [(child, "type") for child, parents in types.interfaces.items() if is_interface and name in parents]
    return f"{'interface' if is_interface else 'type'} {name}{implements} {{ {' '.join(lines)} }}", found


def _inputs(fields: Mapping[str, str]) -> str:
    return " ".join(f"{name}: {graphql_type(kind)}" for name, kind in fields.items())


def _inner(kinds: Iterable[str], kind: str) -> list[tuple[str, str]]:
    return [(re.sub(r"[\[\]!]", "", graphql_type(one)), kind) for one in kinds]


def graphql_type(kind: str) -> str:
    """A TypeScript type of the generated kind as GraphQL writes it: what is no `Maybe` is never null."""
    for wrapper in ("Maybe", "InputMaybe"):
        if kind.startswith(f"{wrapper}<"):
            return graphql_type(kind[len(wrapper) + 1 : -1]).removesuffix("!")
    if kind.startswith("Array<"):
        return f"[{graphql_type(kind[len('Array<') : -1])}]!"
    scalar = re.fullmatch(r"Scalars\[\"(\w+)\"\]", kind)
    return f"{scalar[1] if scalar else kind}!"
