"""A description cut down to what some requests need of it, and made strict: loading all of GitHub's takes half a
minute, and none of them forbids what it does not know.
"""

import copy
import re
from collections.abc import Iterable, Mapping
from typing import Any

_METHODS = frozenset({"get", "put", "post", "delete", "patch", "head", "options"})
_WIDE = frozenset({"path", "ref"})
"""Parameters of a path whose value may hold slashes."""
_NOISE = frozenset({"description", "example", "examples", "x-github", "externalDocs", "title", "summary", "tags"})
_JOINED = frozenset({"allOf", "anyOf", "oneOf", "additionalProperties", "unevaluatedProperties"})
Description = dict[str, Any]
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def template_of(templates: Iterable[str], path: str) -> str | None:
    """The template that a path is of: of several the one with the most that is fixed."""
    fitting = [template for template in templates if re.fullmatch(_pattern(template), path)]
    return min(fitting, key=lambda template: (template.count("{"), -len(template)), default=None)


def parameters_of(template: str, path: str) -> list[str]:
    """What stands in a path where its template has parameters."""
    found = re.fullmatch(_pattern(template), path)
    assert found is not None
    return list(found.groups())


def pruned(description: Description, templates: Iterable[str]) -> Description:
    """These paths and what they refer to, without answers, examples and proofs of who asks. In bodies nothing is
    allowed that the description does not name.
    """
    paths = {template: _path_item(description["paths"][template]) for template in templates}
    components = _referred(paths, description.get("components", {}))
    for kind in ("schemas", "requestBodies"):
        for part in components.get(kind, {}).values():
            _close(part)
    for item in paths.values():
        _close(item)
    info = {"title": description["info"]["title"], "version": "1"}
    servers = [{"url": "http://vendor.example"}]
    return {"openapi": "3.0.3", "info": info, "servers": servers, "paths": paths, "components": components}


def form_names(description: Description, template: str, method: str) -> set[str]:
    """The names of fields that a form may have, without brackets: openapi-core looks at no others."""
    body = _resolved(description, description["paths"][template].get(method.lower(), {}).get("requestBody", {}))
    schema = body.get("content", {}).get(FORM, {}).get("schema", {})
    return {name.partition("[")[0] for name in _resolved(description, schema).get("properties", {})}


def query_names(description: Description, template: str, method: str) -> set[str]:
    """The names of parameters that a query may have, without brackets."""
    item = description["paths"][template]
    given = [*item.get("parameters", ()), *item.get(method.lower(), {}).get("parameters", ())]
    found = [_resolved(description, one) for one in given]
    return {str(one["name"]).partition("[")[0] for one in found if one["in"] == "query"}


def _pattern(template: str) -> str:
    parts = re.split(r"(\{[^}]*\})", template)
    return "".join(_part(part) if part.startswith("{") else re.escape(part) for part in parts)


def _part(parameter: str) -> str:
    return "(.+)" if parameter.strip("{}") in _WIDE else "([^/]+)"


def _path_item(item: Mapping[str, Any]) -> Description:
    kept: Description = {}
    for name, part in item.items():
        if name in _METHODS:
            kept[name] = _bare({key: value for key, value in part.items() if key not in ("responses", "security")})
            kept[name]["responses"] = {"200": {"description": "not looked at"}}
        elif name == "parameters":
            kept[name] = _bare(part)
    return kept


def _bare(part: Any, *, is_named: bool = False) -> Any:
    """A copy without what is for readers. Below `properties` every key is a name of the vendor's."""
    if isinstance(part, list):
        return [_bare(one) for one in part]
    if not isinstance(part, dict):
        return copy.copy(part)
    return {
        key: _bare(value, is_named=key == "properties" and not is_named)
        for key, value in part.items()
        if is_named or key not in _NOISE
    }


def _referred(part: Any, components: Mapping[str, Any]) -> Description:
    """The components that are referred to, by what is referred to as well."""
    found: Description = {}
    left = [part]
    while left:
        for reference in _references(left.pop()):
            kind, name = reference.removeprefix("#/components/").split("/", 1)
            if name not in found.setdefault(kind, {}):
                found[kind][name] = _bare(components[kind][name])
                left.append(found[kind][name])
    return found


def _references(part: Any) -> Iterable[str]:
    if isinstance(part, list):
        for one in part:
            yield from _references(one)
    elif isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for one in part.values():
            yield from _references(one)


def _close(part: Any) -> None:
    """Forbid unknown keys wherever keys are named and nothing is joined to them that may name more."""
    if isinstance(part, list):
        for one in part:
            _close(one)
    elif isinstance(part, dict):
        if isinstance(part.get("properties"), dict) and not _names_more(part):
            part["additionalProperties"] = False
        for one in part.values():
            _close(one)


def _names_more(part: Mapping[str, Any]) -> bool:
    branches = [one for key in _JOINED & part.keys() if isinstance(part[key], list) for one in part[key]]
    is_open = "additionalProperties" in part or "unevaluatedProperties" in part
    return is_open or any("properties" in one or "$ref" in one or "allOf" in one for one in branches)


def _resolved(description: Description, part: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in part:
        at: Any = description
        for name in part["$ref"].removeprefix("#/").split("/"):
            at = at[name]
        part = at
    return part
