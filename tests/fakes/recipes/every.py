"""Every case: a list that somebody wrote."""

from fakes.recipes import grpc_upstream, http_api, mcp_upstream
from fakes.recipes.base import RecipeCase

_ADAPTERS = (grpc_upstream, http_api, mcp_upstream)
RECIPE_CASES: tuple[RecipeCase, ...] = tuple(case for adapter in _ADAPTERS for case in adapter.CASES)
