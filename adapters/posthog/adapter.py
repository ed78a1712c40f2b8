"""PostHog: questions by its private API, events by its public one (https://posthog.com/docs/api)."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from adapters.base import Invocation, Operation, Output, SideEffect, Target
from adapters.posthog import arguments, options, preparation
from adapters.posthog.asking import Asking
from adapters.posthog.capture import ByProjectKey, Capturing
from adapters.posthog.failures import judge, judge_capture
from adapters.posthog.insights import Insights
from adapters.posthog.reading import Reading
from adapters.transport.api import Api, ApiAdapter, ApiParts, Vendor
from adapters.transport.authorisation import Bearer

Prepare = Callable[[dict[str, Any]], dict[str, Any]]
Ask = Callable[[Invocation], Awaitable[Output]]


class PostHogAdapter(ApiAdapter):
    """PostHog: a cloud or a server of one's own, by `base_url`. `adapters.posthog.options` says what a connection has
    to say beside its credential. No operation takes a query's text.
    """

    name = "posthog"

    def __init__(self, parts: ApiParts) -> None:
        vendor = Vendor(base_url=options.BASE_URL, authorises=Bearer(), judge=judge)
        super().__init__(vendor, parts, options=options.OPTIONS)
        public = Vendor(base_url=options.BASE_URL, authorises=ByProjectKey(), judge=judge_capture)
        asking = Asking(self.api, parts.clock)
        capturing = Capturing(Api(public, parts.transport, parts.clock, parts.pauses), asking)
        operations = (*_reads(Insights(asking), Reading(asking, parts.clock)), _capture(capturing))
        self.operations: Mapping[str, Operation] = {operation.name: operation for operation in operations}

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a connection; empty when all is well."""
        return super().check_target(target) + options.problems(target)


def _reads(insights: Insights, reading: Reading) -> list[Operation]:
    said, to = arguments, preparation
    table: tuple[tuple[str, type, Prepare, Ask], ...] = (
        ("run_trend", said.RunTrend, to.prepare_run_trend, insights.run_trend),
        ("run_funnel", said.RunFunnel, to.prepare_run_funnel, insights.run_funnel),
        ("run_retention", said.RunRetention, to.prepare_run_retention, insights.run_retention),
        ("run_saved_query", said.RunSavedQuery, to.prepare_run_saved_query, insights.run_saved_query),
        ("list_events", said.ListEvents, to.prepare_list_events, reading.list_events),
        ("list_persons", said.ListPersons, to.prepare_list_persons, reading.list_persons),
        ("get_person", said.GetPerson, to.prepare_get_person, reading.get_person),
        ("list_feature_flags", said.ListFeatureFlags, to.prepare_list_feature_flags, reading.list_feature_flags),
        ("get_feature_flag", said.GetFeatureFlag, to.prepare_get_feature_flag, reading.get_feature_flag),
    )
    return [
        Operation(
            name=name, arguments=given, side_effect=SideEffect.READ, prepare=prepare, invoke=ask, needs_credential=True
        )
        for name, given, prepare, ask in table
    ]


def _capture(capturing: Capturing) -> Operation:
    return Operation(
        name="capture_event",
        arguments=arguments.CaptureEvent,
        side_effect=SideEffect.WRITE,
        prepare=preparation.prepare_capture_event,
        invoke=capturing.capture_event,
        needs_credential=True,
        reconcile=capturing.find,
    )
