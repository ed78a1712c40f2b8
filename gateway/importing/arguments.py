"""The arguments of one operation: its parameters and its body as one flat, closed object, and where each goes."""

import re
from collections.abc import Mapping
from typing import Any

from gateway.importing.bodies import Body
from gateway.importing.closing import Closing
from gateway.importing.names import argument_names
from gateway.importing.operations import Described, parameters_of
from gateway.importing.parameters import Parameter
from gateway.importing.reasons import Skipped
from gateway.importing.references import References, mapping
from gateway.importing.taken import Taken

_SLOT = re.compile(r"\{([^{}]+)\}")


def arguments_of(operation: Described, references: References, closing: Closing) -> Taken:
    """The operation's arguments. Raises `Skipped`, and `Inexpressible` for what is required and cannot be said."""
    taken = Taken(options={"method": operation.method, "path": operation.path})
    parameters = parameters_of(operation, references)
    names = argument_names((one["in"], one["name"]) for one in parameters)
    if names is None:
        raise Skipped("it has parameters that cannot be told apart")
    for one in parameters:
        Parameter(operation, one, names[one["in"], one["name"]], closing).put_into(taken)
    taken.options["path"] = _path(operation, parameters, names)
    body = references.follow(operation.own.get("requestBody"))
    if body:
        Body(operation, body, closing, references).put_into(taken)
    return taken


def _path(operation: Described, parameters: list[Mapping[str, Any]], names: Mapping[tuple[str, str], str]) -> str:
    """The path with a slot for each argument; one that may have slashes has one of several segments."""
    several = {one["name"] for one in parameters if one["in"] == "path" and _is_several(one)}

    def slot(match: re.Match[str]) -> str:
        name = match[1]
        if ("path", name) not in names:
            raise Skipped(f"its path has {{{name[:64]}}}, which is no parameter")
        return f"{{{'+' if name in several else ''}{names['path', name]}}}"

    path = _SLOT.sub(slot, operation.path)
    slots = {match[1] for match in _SLOT.finditer(operation.path)}
    if any(one["in"] == "path" and one["name"] not in slots for one in parameters):
        raise Skipped("it has a parameter of the path that is not in the path")
    if re.search(r"[?#]", path):
        raise Skipped("its path has a query or a fragment in it")
    return path


def _is_several(parameter: Mapping[str, Any]) -> bool:
    is_marked = parameter.get("x-multi-segment") is True or parameter.get("allowReserved") is True
    return is_marked and mapping(parameter.get("schema")).get("type") == "string"
