"""Says of each GraphQL request what does not fit a schema, by graphql-core.

It runs in a Python of its own (`-S`): standard input is `{"schema": "...", "requests": [...]}`, standard output one
list of sentences for each request.
"""

import json
import sys
from typing import Any

from graphql import GraphQLSchema, OperationDefinitionNode, build_schema, parse, validate
from graphql.error import GraphQLSyntaxError
from graphql.execution.values import get_variable_values

MOST = 400
"""Characters of a sentence."""


def main() -> None:
    """Read, check, write."""
    given = json.load(sys.stdin)
    schema = build_schema(given["schema"])
    json.dump([problems(schema, request) for request in given["requests"]], sys.stdout)


def problems(schema: GraphQLSchema, request: dict[str, Any]) -> list[str]:
    """A sentence for each thing that does not fit: in the document, and in its variables."""
    strange = [f"{name!r} is no part of a request" for name in request.keys() - {"query", "variables", "operationName"}]
    try:
        document = parse(request["query"])
    except GraphQLSyntaxError as error:
        return [*strange, error.message[:MOST]]
    errors = validate(schema, document)
    if not errors:
        (operation,) = (one for one in document.definitions if isinstance(one, OperationDefinitionNode))
        given = request.get("variables") or {}
        known = {one.variable.name.value for one in operation.variable_definitions}
        strange += [f"the variable {name!r} is not used" for name in given.keys() - known]
        values = get_variable_values(schema, operation.variable_definitions, given)
        errors = values if isinstance(values, list) else []
    return [*strange, *(error.message[:MOST] for error in errors)]


if __name__ == "__main__":
    main()
