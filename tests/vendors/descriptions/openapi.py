"""Which of a vendor's descriptions its requests are checked against, and how."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from fakes.vendor import Asked
from vendors.descriptions.asking import answered
from vendors.descriptions.discovery import openapi_of
from vendors.descriptions.pruning import (
    FORM,
    JSON,
    Description,
    form_names,
    parameters_of,
    pruned,
    query_names,
    template_of,
)
from vendors.descriptions.sources import CALENDAR, GITHUB, SLACK, STRIPE, Source

CHECKER = Path(__file__).with_name("openapi_checker.py")


def _as_it_is(description: Description) -> Description:
    return description


@dataclass(frozen=True)
class Described:
    """How a vendor's requests are compared with what the vendor wrote."""

    source: Source
    prefix: str = ""
    """What an adapter's path begins with and the description's does not, where it does."""
    read: Callable[[Description], Description] = _as_it_is
    """The file as OpenAPI, mended where it is known to be behind."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Paths that the description does not know, with the reason."""

    def description(self) -> Description:
        """The whole of it."""
        return self.read(json.loads(self.source.file.read_text("utf-8")))

    def path(self, asked: Asked) -> str:
        """As the description writes it."""
        return asked.path.removeprefix(self.prefix) if asked.path.startswith(f"{self.prefix}/") else asked.path


def check(described: Described, requests: Sequence[Asked]) -> list[list[str] | None]:
    """Of each request, a sentence for each thing that does not fit; None when the description does not know it and it
    is among what is `left_out`.
    """
    description = described.description()
    paths = [described.path(asked) for asked in requests]
    templates = [template_of(description["paths"], path) for path in paths]
    known = [index for index, template in enumerate(templates) if template is not None]
    cut = pruned(description, sorted({str(templates[index]) for index in known}))
    plain = [_plain(requests[index], str(templates[index]), paths[index]) for index in known]
    found: list[list[str] | None] = [
        None if _is_left_out(described, path) else [f"{path} is not described"] for path in paths
    ]
    for index, problems in zip(known, answered(CHECKER, {"description": cut, "requests": plain}), strict=True):
        found[index] = [*problems, *_strange(description, str(templates[index]), requests[index])]
    return found


def _strange(description: Description, template: str, asked: Asked) -> list[str]:
    """A sentence for each name in the query or in a form that is not described."""
    form = asked.form if asked.headers.get("Content-Type", "").startswith(FORM) else {}
    names = {
        "query": (asked.query, query_names(description, template, asked.method)),
        "form": (form, form_names(description, template, asked.method)),
    }
    return [
        f"{where}: {name!r} is not described"
        for where, (given, known) in names.items()
        for name in given
        if name.partition("[")[0] not in known
    ]


def _is_left_out(described: Described, path: str) -> bool:
    return any(path.startswith(known) for known in described.left_out)


def _plain(asked: Asked, template: str, path: str) -> Description:
    """The request as JSON, with one segment of its path for each parameter."""
    filled = template
    for parameter in parameters_of(template, path):
        start, end = filled.index("{"), filled.index("}")
        filled = filled[:start] + quote(parameter, safe="") + filled[end + 1 :]
    return {
        "method": asked.method,
        "path": filled,
        "query": dict(asked.query),
        "headers": dict(asked.headers),
        "body": base64.b64encode(asked.body).decode(),
        "content_type": asked.headers.get("Content-Type", JSON).partition(";")[0],
    }


_YOUNGER_FIELDS: Mapping[str, Mapping[str, Description]] = {
    "/chat.postMessage": {"metadata": {"type": "string"}, "client_msg_id": {"type": "string", "format": "uuid"}},
    "/conversations.history": {"include_all_metadata": {"type": "boolean"}},
    "/conversations.replies": {"include_all_metadata": {"type": "boolean"}},
    "/conversations.open": {"prevent_creation": {"type": "boolean"}},
}
"""Of Slack's forms: what its documentation has, and the description, which is of 2021, has not."""


_YOUNGER = {
    "/chat.postMessage": ("metadata", "client_msg_id"),
    "/chat.update": ("metadata",),
    "/conversations.history": ("include_all_metadata",),
    "/conversations.replies": ("include_all_metadata",),
    "/conversations.open": ("prevent_creation",),
}
"""Fields of Slack's methods that are documented by now and were not when the file was written."""


def _slack(description: Description) -> Description:
    """What it says of forms and queries holds of JSON too, and what may be read may be asked for by POST: so Slack's
    own documentation has it, and leaves it out of this file. A token in a header of its own is the file's invention.
    """
    for path, item in description["paths"].items():
        for operation in item.values():
            operation["parameters"] = [one for one in operation.get("parameters", ()) if one["name"] != "token"]
        if "post" not in item:
            item["post"] = _by_post(item["get"])
        content = item["post"].get("requestBody", {}).get("content", {})
        if FORM in content:
            fields = content[FORM]["schema"]["properties"]
            fields |= {name: {} for name in _YOUNGER.get(path, ())}
            content[JSON] = {"schema": {**content[FORM]["schema"], "properties": fields | _lists(fields)}}
    return description


def _by_post(operation: Description) -> Description:
    fields = {one["name"]: one["schema"] for one in operation["parameters"] if one["in"] == "query"}
    required = [one["name"] for one in operation["parameters"] if one.get("required") and one["in"] == "query"]
    schema = {"type": "object", "properties": fields} | ({"required": required} if required else {})
    return {"requestBody": {"content": {FORM: {"schema": schema}}}, "parameters": []}


def _lists(fields: Description) -> Description:
    """What a form has as a text of JSON is JSON in JSON."""
    return {name: {} for name in ("attachments", "blocks") if name in fields}


def _stripe(description: Description) -> Description:
    """Stripe's brackets, which openapi-core does not read, as parameters and fields with brackets in their names."""
    for item in description["paths"].values():
        for operation in item.values():
            operation["parameters"] = [flat for one in operation.get("parameters", ()) for flat in _flat(one)]
            form = operation.get("requestBody", {}).get("content", {}).get(FORM)
            if form and "properties" in form.get("schema", {}):
                fields = form["schema"]["properties"]
                form["schema"]["properties"] = {
                    flat: inner for name, field in fields.items() for flat, inner in _brackets(name, field)
                }
                form.pop("encoding", None)
    return description


def _flat(parameter: Description) -> list[Description]:
    if parameter.get("style") != "deepObject":
        return [parameter]
    return [
        {"name": name, "in": "query", "schema": schema}
        for name, schema in _brackets(parameter["name"], parameter["schema"])
    ]


def _brackets(name: str, schema: Description) -> list[tuple[str, Description]]:
    """A field by each name that it may come under. What may have any key has its own name alone, and is not read."""
    found: list[tuple[str, Description]] = []
    for one in schema.get("anyOf", [schema]):
        if one.get("type") == "object":
            inner = one.get("properties", {}).items()
            found += [(f"{name}[{key}]", value) for key, value in inner if value.get("type") not in ("object", "array")]
        elif one.get("type") == "array":
            found.append((f"{name}[]", one))
        else:
            found.append((name, one))
    return found or [(f"{name}[]", {})]


DESCRIBED = {
    "github": Described(GITHUB),
    "slack": Described(
        SLACK,
        prefix="/api",
        read=_slack,
        left_out={
            "/files.getUploadURLExternal": "younger than the description",
            "/files.completeUploadExternal": "younger than the description",
            "/upload": "an address that Slack gives for one file",
        },
    ),
    "stripe": Described(STRIPE, read=_stripe),
    "calendar": Described(
        CALENDAR, prefix="/calendar/v3", read=openapi_of, left_out={"/token": "OAuth's, and no part of the API"}
    ),
}
"""By vendor. What is in none of them has no description that can be installed."""
