"""Insights: typed queries, and those that somebody saved."""

from collections.abc import Mapping
from typing import Any

from adapters.base import ErrorKind, Invocation, Output
from adapters.posthog import queries, results
from adapters.posthog.answers import Json, text, whole
from adapters.posthog.asking import ANALYTICS, Asking
from adapters.transport.replies import Reply, malformed


class Insights:
    """The operations that reckon."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def run_trend(self, invocation: Invocation) -> Output:
        """How often events happened over time."""
        found, reply = await self._asking.query(invocation, queries.trend(invocation.arguments))
        lines = _results(found, reply)
        structured = {
            "series": results.series(lines),
            "more_series": max(0, len(lines) - results.MOST_SERIES),
            "computed_at": text(found.get("last_refresh")),
        }
        return _output(structured, reply, "a trend")

    async def run_funnel(self, invocation: Invocation) -> Output:
        """How many went from each step to the next."""
        found, reply = await self._asking.query(invocation, queries.funnel(invocation.arguments))
        steps = results.funnels(_results(found, reply))[0]["steps"]
        return _output({"steps": steps, "computed_at": text(found.get("last_refresh"))}, reply, "a funnel")

    async def run_retention(self, invocation: Invocation) -> Output:
        """How many came back."""
        found, reply = await self._asking.query(invocation, queries.retention(invocation.arguments))
        structured = {
            "cohorts": results.cohorts(_results(found, reply)),
            "computed_at": text(found.get("last_refresh")),
        }
        return _output(structured, reply, "a retention")

    async def run_saved_query(self, invocation: Invocation) -> Output:
        """What an insight comes to that somebody saved."""
        wanted = invocation.arguments["insight_id"]
        query = {"refresh": "blocking"}
        reply = await self._asking.get(invocation, "/insights/{}/", wanted, query=query, limit=ANALYTICS)
        insight = reply.value
        if not isinstance(insight, Mapping) or whole(insight.get("id")) is None:
            malformed(reply)
        found, reply = await self._asking.settled(invocation, reply)
        came = found.get("result", found.get("results"))
        if came is None:
            message = "PostHog has no result of this insight yet; ask again in a while."
            raise reply.error(ErrorKind.UNAVAILABLE, message)
        return _output(_saved(insight, found, came), reply, "a saved insight")


def _saved(insight: Mapping[str, Any], found: Mapping[str, Any], came: Any) -> Json:
    kind = results.kind_of(insight)
    return {
        "insight_id": whole(insight.get("id")),
        "name": text(insight.get("name")) or text(insight.get("derived_name")),
        "description": text(insight.get("description")),
        "kind": kind,
        "series": results.series(came) if kind == "trend" else None,
        "funnels": results.funnels(came) if kind == "funnel" else None,
        "cohorts": results.cohorts(came) if kind == "retention" else None,
        "table": results.table(came, found.get("columns", insight.get("columns"))) if kind == "table" else None,
        "computed_at": text(insight.get("last_refresh")) or text(found.get("last_refresh")),
    }


def _results(found: Mapping[str, Any], reply: Reply) -> list[Any]:
    came = found.get("results")
    if not isinstance(came, list):
        malformed(reply)
    return came


def _output(structured: Json, reply: Reply, what: str) -> Output:
    return Output(structured=structured, receipt=f"Ran {what} in PostHog.", attempts=reply.attempts)
