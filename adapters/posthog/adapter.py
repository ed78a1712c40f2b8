"""PostHog: questions by its private API, events by its public one (https://posthog.com/docs/api)."""

from collections.abc import Mapping
from functools import partial

from adapters.base import Operation, SideEffect, Target
from adapters.posthog import arguments, options, preparation
from adapters.posthog.asking import Asking
from adapters.posthog.capture import ByProjectKey, Capturing
from adapters.posthog.failures import judge, judge_capture
from adapters.posthog.insights import Insights
from adapters.posthog.reading import Reading
from adapters.transport.api import Api, ApiAdapter, ApiParts, Vendor
from adapters.transport.authorisation import Bearer


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
        operations = (*_insights(Insights(asking)), *_reads(Reading(asking, parts.clock)), _capture(capturing))
        self.operations: Mapping[str, Operation] = {operation.name: operation for operation in operations}

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a connection; empty when all is well."""
        return super().check_target(target) + options.problems(target)


_read = partial(Operation, side_effect=SideEffect.READ, needs_credential=True)


def _insights(insights: Insights) -> tuple[Operation, ...]:
    return (
        _read(
            name="run_trend",
            arguments=arguments.RunTrend,
            prepare=preparation.prepare_run_trend,
            invoke=insights.run_trend,
        ),
        _read(
            name="run_funnel",
            arguments=arguments.RunFunnel,
            prepare=preparation.prepare_run_funnel,
            invoke=insights.run_funnel,
        ),
        _read(
            name="run_retention",
            arguments=arguments.RunRetention,
            prepare=preparation.prepare_run_retention,
            invoke=insights.run_retention,
        ),
        _read(
            name="run_saved_query",
            arguments=arguments.RunSavedQuery,
            prepare=preparation.prepare_run_saved_query,
            invoke=insights.run_saved_query,
        ),
    )


def _reads(reading: Reading) -> tuple[Operation, ...]:
    return (
        _read(
            name="list_events",
            arguments=arguments.ListEvents,
            prepare=preparation.prepare_list_events,
            invoke=reading.list_events,
        ),
        _read(
            name="list_persons",
            arguments=arguments.ListPersons,
            prepare=preparation.prepare_list_persons,
            invoke=reading.list_persons,
        ),
        _read(
            name="get_person",
            arguments=arguments.GetPerson,
            prepare=preparation.prepare_get_person,
            invoke=reading.get_person,
        ),
        _read(
            name="list_feature_flags",
            arguments=arguments.ListFeatureFlags,
            prepare=preparation.prepare_list_feature_flags,
            invoke=reading.list_feature_flags,
        ),
        _read(
            name="get_feature_flag",
            arguments=arguments.GetFeatureFlag,
            prepare=preparation.prepare_get_feature_flag,
            invoke=reading.get_feature_flag,
        ),
    )


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
