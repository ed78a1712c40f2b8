"""Counting: right sums, labels of closed sets alone, and nothing that grows with what callers choose."""

from typing import Any

import pytest
from fakes.lines import line
from fakes.scrapes import scrape

from gateway.audit.base import LineKind
from gateway.call import Step
from gateway.errors import CODE_OF, Reason
from gateway.metrics import families as f
from gateway.metrics.counts import BOUNDS, Metrics
from gateway.metrics.events import Received
from gateway.metrics.exposition import Exposition
from gateway.metrics.gauges import Gauges, Names
from gateway.metrics.upkeep import CheckpointPlace


def shown(metrics: Metrics) -> Any:
    """What a scrape shows of these counts."""
    return scrape(Exposition(metrics, Gauges(), Names()))


def test_a_call_is_counted_by_how_it_ended() -> None:
    """Kind, outcome, reason and step are the line's own; a call that was carried out says done."""
    metrics = Metrics()
    metrics.called(line("c1"))
    for _ in range(2):
        metrics.called(line("c1", outcome="permission_denied", reason="policy_denied", stopped_at="policy"))
    seen = shown(metrics)
    assert seen.value("tollhouse_calls_total", kind="call", outcome="ok", reason="", step="done") == 1
    denied = {"kind": "call", "outcome": "permission_denied", "reason": "policy_denied", "step": "policy"}
    assert seen.value("tollhouse_calls_total", **denied) == 2


def test_enum_and_text_are_the_same_way_to_end() -> None:
    """Two spellings of one value are one series: an enum hashes differently from its text."""
    metrics = Metrics()
    metrics.called(
        line("c1", kind=LineKind.CALL, outcome="not_found", reason=Reason.TOOL_NOT_FOUND, stopped_at=Step.REGISTRY)
    )
    metrics.called(line("c1", kind="call", outcome="not_found", reason="tool_not_found", stopped_at="registry"))
    labels = {"kind": "call", "outcome": "not_found", "reason": "tool_not_found", "step": "registry"}
    assert shown(metrics).value("tollhouse_calls_total", **labels) == 2


def test_durations_fall_into_buckets_whose_bounds_are_inclusive() -> None:
    """A duration that equals a bound is not beyond it, and the sum is in seconds."""
    metrics = Metrics()
    for took in (25, 26, 60_000_001):
        metrics.called(line("c1", duration_us=took))
    seen = shown(metrics)
    labels = {"kind": "call", "outcome": "ok"}
    name = "tollhouse_call_duration_seconds"
    assert seen.value(f"{name}_bucket", **labels, le="2.5e-05") == 1
    assert seen.value(f"{name}_bucket", **labels, le="0.0001") == 2
    assert seen.value(f"{name}_bucket", **labels, le="60.0") == 2
    assert seen.value(f"{name}_bucket", **labels, le="+Inf") == 3
    assert seen.value(f"{name}_sum", **labels) == pytest.approx(60.000052)


def test_steps_fall_into_buckets_whose_bounds_are_inclusive() -> None:
    """The same for each step, which is counted by code of its own, and for the time of audit."""
    metrics = Metrics()
    for took in (250, 251):
        metrics.called(line("c1", steps_us={"policy": took}), audit_us=took)
    seen = shown(metrics)
    for step in ("policy", "audit"):
        bucket = "tollhouse_step_duration_seconds_bucket"
        assert seen.value(bucket, step=step, le="0.0001") == 0
        assert seen.value(bucket, step=step, le="0.00025") == 1
        assert seen.value(bucket, step=step, le="0.001") == 2


def test_histograms_count_what_the_counter_counts() -> None:
    """For every kind and outcome the durations are as many as the calls; for every step as many as passed it."""
    metrics = Metrics()
    steps = {step.value: 40 * n for n, step in enumerate(Step) if step is not Step.AUDIT}
    ends = [(reason, step) for reason in Reason for step in Step]
    for n, (reason, step) in enumerate(ends):
        metrics.called(
            line(
                "c1",
                outcome=CODE_OF[reason].value,
                reason=reason.value,
                stopped_at=step.value,
                duration_us=n,
                steps_us=steps,
            ),
            audit_us=n,
        )
    seen = shown(metrics)
    assert seen.total("tollhouse_calls_total") == len(ends)
    assert seen.total("tollhouse_call_duration_seconds_count") == len(ends)
    assert seen.total("tollhouse_call_duration_seconds_sum") == pytest.approx(sum(range(len(ends))) / 1e6)
    for step in Step:
        assert seen.value("tollhouse_step_duration_seconds_count", step=step.value) == len(ends)
    assert seen.value("tollhouse_step_duration_seconds_sum", step="result") == pytest.approx(
        steps["result"] * len(ends) / 1e6
    )
    assert seen.value("tollhouse_step_duration_seconds_bucket", step="result", le="+Inf") == len(ends)


def test_buckets_never_go_down() -> None:
    """Each bucket holds at least what the one before does, as quantiles need."""
    metrics = Metrics()
    for took in (1, 30, 99, 1_000, 7_777, 123_456, 9_999_999, 10**9):
        metrics.called(line("c1", duration_us=took))
    name, labels = "tollhouse_call_duration_seconds_bucket", {"kind": "call", "outcome": "ok"}
    counts = [shown(metrics).value(name, **labels, le=repr(bound)) for bound in BOUNDS]
    assert counts == sorted(counts)
    assert counts[-1] == 7


def test_the_time_of_audit_is_counted_only_when_it_is_known() -> None:
    """Without it the step audit has no series; with it, one observation."""
    metrics = Metrics()
    metrics.called(line("c1"))
    assert shown(metrics).value("tollhouse_step_duration_seconds_count", step="audit") is None
    metrics.called(line("c1"), 700)
    assert shown(metrics).value("tollhouse_step_duration_seconds_sum", step="audit") == pytest.approx(0.0007)


def test_replays_and_withheld_answers_are_counted() -> None:
    """Both beside the call itself."""
    metrics = Metrics()
    metrics.called(line("c1", replay=True))
    metrics.withheld()
    seen = shown(metrics)
    assert seen.value("tollhouse_replays_total") == 1
    assert seen.value("tollhouse_answers_withheld_total") == 1


def test_words_that_are_in_no_set_are_counted_as_other() -> None:
    """A fault of ours must neither be lost nor grow."""
    metrics = Metrics(listeners=("agent",))
    for n in range(3):
        metrics.called(
            line("c1", kind=f"k{n}", outcome=f"o{n}", reason=f"r{n}", stopped_at=f"s{n}", steps_us={f"s{n}": 5})
        )
        metrics.unauthenticated(f"listener-{n}")
        metrics.turned_away(f"why-{n}")
    seen = shown(metrics)
    other = {"kind": "other", "outcome": "other", "reason": "other", "step": "other"}
    assert seen.value("tollhouse_calls_total", **other) == 3
    assert seen.value("tollhouse_step_duration_seconds_count", step="other") == 3
    assert seen.value("tollhouse_unauthenticated_total", listener="other") == 3
    assert seen.value("tollhouse_turned_away_total", why="other") == 3


def test_ten_thousand_tools_and_tenants_do_not_grow_the_output() -> None:
    """What callers choose and tenants own is in no label: as many series as for one tool, and none of their names."""
    metrics, one = Metrics(), Metrics()
    one.called(line("c1"))
    for n in range(10_000):
        metrics.called(
            line(
                "c1",
                tool=f"tool_{n}",
                tenant=f"tenant-{n}",
                agent=f"agent-{n}",
                principal=f"who-{n}",
                run_id=f"run-{n}",
            )
        )
    body = b"".join(Exposition(metrics, Gauges(), Names()).pieces())
    assert set(shown(metrics).samples) == set(shown(one).samples)
    assert shown(metrics).total("tollhouse_calls_total") == 10_000
    for word in (b"tool_9", b"tenant-", b"agent-", b"who-", b"run-"):
        assert word not in body


def test_every_label_value_is_in_a_closed_set() -> None:
    """After calls that ended in every way, each label holds a value of its set."""
    metrics = Metrics(listeners=("agent", "approvers"))
    for reason in Reason:
        for step in Step:
            metrics.called(line("c1", outcome=CODE_OF[reason].value, reason=reason.value, stopped_at=step.value))
    sets = {
        "kind": set(map(str, f.Kind)),
        "outcome": f.OUTCOMES,
        "reason": f.REASONS,
        "step": {*map(str, Step), "done"},
        "listener": {"agent", "approvers", "other"},
        "why": set(map(str, f.TurnedAway)),
        "what": set(map(str, f.Reloaded)),
        "result": {"ok", "failed", *map(str, f.Scrape), *map(str, Received)},
        "where": set(map(str, CheckpointPlace)),
        "le": {*map(repr, BOUNDS), "+Inf"},
    }
    for name, labels in shown(metrics).samples:
        assert all(value in sets[label] for label, value in labels), (name, labels)


def test_what_strangers_cause_is_there_from_zero_on() -> None:
    """The first increase can be seen: a series that appears with 1 has not risen."""
    seen = shown(Metrics(listeners=("agent",)))
    assert seen.value("tollhouse_unauthenticated_total", listener="agent") == 0
    for why in f.TurnedAway:
        assert seen.value("tollhouse_turned_away_total", why=why.value) == 0
    assert seen.value("tollhouse_calls_total", kind="call", outcome="ok", reason="", step="done") == 0


def test_reloads_and_scrapes_are_counted_by_result() -> None:
    """A change that was refused is not one that was taken over."""
    metrics = Metrics()
    metrics.reloaded(f.Reloaded.REGISTRY, is_ok=True)
    metrics.reloaded(f.Reloaded.REGISTRY, is_ok=False)
    metrics.reloaded(f.Reloaded.REGISTRY, is_ok=False)
    metrics.scraped(f.Scrape.UNAUTHENTICATED)
    seen = shown(metrics)
    assert seen.value("tollhouse_reloads_total", what="registry", result="ok") == 1
    assert seen.value("tollhouse_reloads_total", what="registry", result="failed") == 2
    assert seen.value("tollhouse_scrapes_total", result="unauthenticated") == 1


def test_checkpoints_that_fail_are_counted_by_place() -> None:
    """From zero on for each; a place that nobody knows is no label."""
    metrics = Metrics()
    for where in ("files", "files", "store", "s3://bucket"):
        metrics.checkpoint_failed(where)
    seen = shown(metrics)
    counts = [seen.value("tollhouse_checkpoints_failed_total", where=where) for where in ("files", "store", "other")]
    assert counts == [2, 1, 1]
    assert shown(Metrics()).value("tollhouse_checkpoints_failed_total", where="store") == 0


def test_the_lag_of_the_loop_is_a_histogram_and_never_negative() -> None:
    """A timer that fired early is no lag."""
    metrics = Metrics()
    metrics.loop_was_late(-0.001)
    metrics.loop_was_late(0.004)
    seen = shown(metrics)
    assert seen.value("tollhouse_event_loop_lag_seconds_count") == 2
    assert seen.value("tollhouse_event_loop_lag_seconds_sum") == pytest.approx(0.004)
