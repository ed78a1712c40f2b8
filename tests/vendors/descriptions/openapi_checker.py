"""Says of each request what does not fit an OpenAPI description, by openapi-core.

It runs in a Python of its own (`-S`): standard input is `{"description": ..., "requests": [...]}`, standard output one
list of sentences for each request.
"""

import base64
import json
import sys
from typing import Any

from openapi_core import Config, OpenAPI
from openapi_core.testing import MockRequest

HOST = "http://vendor.example"
MOST = 400
"""Characters of a sentence."""


def main() -> None:
    """Read, check, write."""
    given = json.load(sys.stdin)
    openapi = OpenAPI.from_dict(given["description"], config=Config(spec_validator_cls=None))
    json.dump([problems(openapi, request) for request in given["requests"]], sys.stdout)


def problems(openapi: OpenAPI, request: dict[str, Any]) -> list[str]:
    """A sentence for each thing that does not fit."""
    mock = MockRequest(
        HOST,
        request["method"],
        request["path"],
        args=[(name, value) for name, values in request["query"].items() for value in values],
        headers=request["headers"],
        data=base64.b64decode(request["body"]),
        content_type=request["content_type"],
    )
    return [sentence for error in openapi.unmarshal_request(mock).errors for sentence in _sentences(error)]


def _sentences(error: BaseException) -> list[str]:
    """What is wrong, and where."""
    causes = getattr(error, "schema_errors", None)
    if causes:
        return [f"{'/'.join(map(str, one.absolute_path))}: {one.message}"[:MOST] for one in causes]
    inner = _sentences(error.__cause__) if error.__cause__ is not None else []
    return [f"{error}: {sentence}"[:MOST] for sentence in inner] or [f"{type(error).__name__}: {error}"[:MOST]]


if __name__ == "__main__":
    main()
