"""Google's way to describe an API, told in OpenAPI's."""

from collections.abc import Iterator, Mapping
from typing import Any

from vendors.descriptions.pruning import Description

_KEPT = ("type", "format", "enum", "pattern", "maximum", "minimum")


def openapi_of(discovered: Mapping[str, Any]) -> Description:
    """Every method below the path that the document gives; its schemas as components."""
    paths: Description = {}
    common = _parameters(discovered.get("parameters", {}))
    for method in _methods(discovered):
        operation: Description = {"parameters": [*common, *_parameters(method.get("parameters", {}))]}
        if "request" in method:
            schema = _schema(method["request"])
            operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
        path = f"/{method['path']}".replace("{+", "{")
        paths.setdefault(path, {})[method["httpMethod"].lower()] = operation
    schemas = {name: _schema(schema) for name, schema in discovered["schemas"].items()}
    return {"info": {"title": discovered["title"]}, "paths": paths, "components": {"schemas": schemas}}


def _methods(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from part.get("methods", {}).values()
    for resource in part.get("resources", {}).values():
        yield from _methods(resource)


def _parameters(described: Mapping[str, Any]) -> list[Description]:
    return [
        {
            "name": name,
            "in": one["location"],
            "required": one.get("required", False),
            "schema": {"type": "array", "items": _schema(one)} if one.get("repeated") else _schema(one),
        }
        for name, one in described.items()
    ]


def _schema(described: Mapping[str, Any]) -> Description:
    """JSON Schema: the document refers by bare names, and writes bounds as texts."""
    if "$ref" in described:
        return {"$ref": f"#/components/schemas/{described['$ref']}"}
    schema: Description = {key: described[key] for key in _KEPT if key in described}
    if schema.get("type") == "any":
        del schema["type"]
    for bound in ("maximum", "minimum"):
        if bound in schema:
            schema[bound] = int(schema[bound])
    if "properties" in described:
        schema["properties"] = {name: _schema(one) for name, one in described["properties"].items()}
    for inner in ("items", "additionalProperties"):
        if inner in described:
            schema[inner] = _schema(described[inner])
    return schema
