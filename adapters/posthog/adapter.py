"""PostHog: questions by its private API, events by its public one (https://posthog.com/docs/api)."""

from collections.abc import Mapping

from adapters.base import Operation, Target
from adapters.posthog import arguments, options, preparation
from adapters.posthog.asking import Asking
from adapters.posthog.capture import ByProjectKey, Capturing
from adapters.posthog.failures import judge, judge_capture
from adapters.posthog.insights import Insights
from adapters.posthog.reading import Reading
from adapters.transport.api import Api, ApiAdapter, ApiParts, Vendor
from adapters.transport.authorisation import Bearer
from adapters.transport.operations import changing, reading


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


def _reads(insights: Insights, look: Reading) -> list[Operation]:
    said, to = arguments, preparation
    return [
        reading("run_trend", said.RunTrend, to.prepare_run_trend, insights.run_trend),
        reading("run_funnel", said.RunFunnel, to.prepare_run_funnel, insights.run_funnel),
        reading("run_retention", said.RunRetention, to.prepare_run_retention, insights.run_retention),
        reading("run_saved_query", said.RunSavedQuery, to.prepare_run_saved_query, insights.run_saved_query),
        reading("list_events", said.ListEvents, to.prepare_list_events, look.list_events),
        reading("list_persons", said.ListPersons, to.prepare_list_persons, look.list_persons),
        reading("get_person", said.GetPerson, to.prepare_get_person, look.get_person),
        reading("list_feature_flags", said.ListFeatureFlags, to.prepare_list_feature_flags, look.list_feature_flags),
        reading("get_feature_flag", said.GetFeatureFlag, to.prepare_get_feature_flag, look.get_feature_flag),
    ]


def _capture(capturing: Capturing) -> Operation:
    return changing(
        "capture_event",
        arguments.CaptureEvent,
        preparation.prepare_capture_event,
        capturing.capture_event,
        capturing.find,
    )
