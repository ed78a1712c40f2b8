"""Every vendor whose requests are checked against a description that the vendor wrote."""

import json
from collections.abc import Sequence
from pathlib import Path

from fakes.vendor import Asked
from vendors.descriptions import openapi
from vendors.descriptions.asking import answered
from vendors.descriptions.linear_types import schema_of
from vendors.descriptions.sources import LINEAR

_GRAPHQL = Path(__file__).with_name("graphql_checker.py")
_TOKENS = "/oauth/token"
"""Linear's, and no part of its schema."""
NAMES = {vendor: one.source.name for vendor, one in openapi.DESCRIBED.items()} | {"linear": LINEAR.name}
"""By vendor: its description's name and version."""


def check(vendor: str, requests: Sequence[Asked]) -> list[list[str] | None]:
    """Of each request, a sentence for each thing that does not fit; None when it is known to be in no description."""
    if vendor != "linear":
        return openapi.check(openapi.DESCRIBED[vendor], requests)
    asked = [one for one in requests if one.path != _TOKENS]
    schema = schema_of(LINEAR.file.read_text("utf-8"))
    found = iter(answered(_GRAPHQL, {"schema": schema, "requests": [json.loads(one.body) for one in asked]}))
    return [None if one.path == _TOKENS else next(found) for one in requests]
