"""Manifests against the rows of a registry: what would change, and rows written as a manifest again."""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gateway.errors import StartError
from gateway.registry.places import Placed, read_rows

LISTS = {"connection": "connections", "tool": "tools", "agent": "agents"}
"""The list of a manifest in which rows of a kind stand, in the order in which they are written."""
_FIRST = ("name", "tenant", "version", "title", "description")
"""The keys that a person looks for; the others follow by name."""

Key = tuple[str, str]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """A row as the registry has it."""

    version: int
    value: Json = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One row that is not as the manifests have it."""

    kind: str
    name: str
    version: int
    """That it has now; 0 when it is not there."""
    before: Json | None = field(repr=False)
    after: Json | None = field(repr=False)

    @property
    def action(self) -> str:
        """What would be done: `create`, `update` or `delete`."""
        if self.after is None:
            return "delete"
        return "create" if self.before is None else "update"


def wanted_in(paths: Sequence[Path]) -> dict[Key, Json]:
    """The rows of manifests, by kind and name, as they are written. Raises `StartError` with every problem."""
    rows, problems = read_rows(paths, {})
    wrong = [str(problem) for problem in problems if not problem.is_warning]
    found: dict[Key, Json] = {}
    placed: dict[str, Sequence[Placed[Any]]] = {
        "connection": rows.connections,
        "tool": rows.tools,
        "agent": rows.agents,
    }
    for kind, some in placed.items():
        for one in some:
            list_name, index = one.at
            if (kind, one.row.name) in found:
                wrong.append(
                    f"{one.place}: duplicate: the {kind} {one.row.name} stands twice; one registry has it once"
                )
            found[kind, one.row.name] = one.document.value[list_name][index]
    if wrong:
        raise StartError("the manifests cannot be used; correct what is listed", tuple(wrong))
    return found


def plan(wanted: dict[Key, Json], present: dict[Key, Present], *, prune: bool) -> list[Planned]:
    """What has to be done so that the registry is as the manifests have it; rows that they do not have stay unless
    `prune` says otherwise.
    """
    planned = []
    for kind, name in sorted(wanted.keys() | (present.keys() if prune else ())):
        here, after = present.get((kind, name)), wanted.get((kind, name))
        if here is None or here.value != after:
            planned.append(
                Planned(
                    kind=kind,
                    name=name,
                    version=here.version if here is not None else 0,
                    before=here.value if here is not None else None,
                    after=after,
                )
            )
    return planned


def difference(planned: Planned, before_in: str = "registry", after_in: str = "manifest") -> str:
    """A unified diff of the row as a manifest has it; where it is before, and where after."""
    label = f"{planned.kind}/{planned.name}"
    before, after = (_lines(planned.kind, value) for value in (planned.before, planned.after))
    return "\n".join(difflib.unified_diff(before, after, f"{before_in} {label}", f"{after_in} {label}", lineterm=""))


def written(rows: Iterable[tuple[str, Json]]) -> str:
    """One manifest of all these rows, each with its kind. Read again it says exactly the same."""
    lists: dict[str, list[Json]] = {name: [] for name in LISTS.values()}
    for kind, value in rows:
        lists[LISTS[kind]].append(value)
    return _yaml({name: [_in_order(value) for value in values] for name, values in lists.items() if values})


def _lines(kind: str, value: Json | None) -> list[str]:
    return [] if value is None else written([(kind, value)]).splitlines()


def _in_order(value: Json) -> Json:
    first = {key: value[key] for key in _FIRST if key in value}
    return first | {key: _sorted(value[key]) for key in sorted(value) if key not in first}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


class _Dumper(yaml.SafeDumper):
    """Writes what the strict reader reads as it was meant."""

    def ignore_aliases(self, data: Any) -> bool:
        """The reader takes none."""
        del data
        return True


_NUMBER_TO_US = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?[eE][+-]?[0-9]+")


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """YAML 1.1 writes 1e3 without quotes, and we would read a number; and it knows more ends of lines than we do."""
    is_odd = _NUMBER_TO_US.fullmatch(text) is not None or not text.replace("\n", "").isprintable()
    style = '"' if is_odd else "|" if _is_block(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _is_block(text: str) -> bool:
    """Whether it reads best as lines of its own."""
    return "\n" in text.strip("\n") and text.isascii() and all(line == line.rstrip() for line in text.split("\n"))


_Dumper.add_representer(str, _text)


def _yaml(value: Any) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
