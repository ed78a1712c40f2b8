"""Gauges: what each part says, what a broken part costs, and which names may show."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from fakes.scrapes import Scraped, scrape

from gateway.audit.outlets.following import SinkStatus
from gateway.metrics import families as f
from gateway.metrics.counts import Metrics
from gateway.metrics.exposition import Exposition
from gateway.metrics.gauges import AuditState, Gauges, LimiterState, Names, PolicyState, VaultState
from gateway.metrics.upkeep import ArtifactsState, FollowerState, HandlesState, OutcomesState, StoreState

NAMES = Names(listeners=frozenset({"agent"}), parts=frozenset({"email", "redis"}))


def shown(gauges: Gauges) -> Scraped:
    """What a scrape shows of them."""
    return scrape(Exposition(Metrics(), gauges, NAMES))


def policy(**given: Any) -> PolicyState:
    """A policy that decides, but for these fields."""
    return PolicyState(**{"engine": "opa", "is_ready": True, "revision": "r7", "age_seconds": 12.5, **given})


def every_part() -> Gauges:
    """A deployment with everything."""
    return Gauges(
        is_ready=lambda: True,
        calls_in_flight=lambda: 3,
        policy=policy,
        limiter=lambda: LimiterState(is_up=False, decided_while_down={("tenant", "local"): 4}),
        vault=lambda: VaultState(is_up=True, token_seconds=90.0, leases_held=4, leases_to_revoke=1),
        key_set_ages=lambda: {"agent": 7.0},
        breakers=lambda: {"email": 2, "redis": 0},
        audit=lambda: AuditState(is_healthy=True, written=10, owed=2, oldest_owed_seconds=0.5),
        is_journal_healthy=lambda: True,
        registry_digest=lambda: "sha256:ab",
        version=lambda: "1.2.3",
        follower=lambda: FollowerState(is_reached=True, stale_tenants=2),
        store=lambda: StoreState(
            keys_owed=1, budgets_owed=2, handles_owed=3, own_closed=4, others_closed=5, late_lines=6
        ),
        deeds=lambda: {("decision", "forbidden"): 2},
        outcomes=lambda: OutcomesState(count=2, oldest_seconds=70.5),
        handles=lambda: HandlesState(running=7, watchers=8),
        artifacts=lambda: ArtifactsState(used_bytes=4096, dropped=9),
        event_watchers=lambda: 13,
        sinks=lambda: (SinkStatus("otlp", is_up=False, behind=12, missed=11, rejected=10, problem="it is away"),),
    )


@pytest.mark.parametrize(
    ("expected", "name", "labels"),
    [
        (1, "tollhouse_ready", {}),
        (3, "tollhouse_calls_in_flight", {}),
        (1, "tollhouse_policy_ready", {}),
        (12.5, "tollhouse_policy_age_seconds", {}),
        (1, "tollhouse_policy_info", {"engine": "opa", "revision": "r7"}),
        (0, "tollhouse_limiter_up", {}),
        (4, "tollhouse_limiter_decisions_while_down_total", {"rule": "tenant", "mode": "local"}),
        (0, "tollhouse_limiter_decisions_while_down_total", {"rule": "tool", "mode": "open"}),
        (1, "tollhouse_vault_up", {}),
        (90, "tollhouse_vault_token_seconds", {}),
        (7, "tollhouse_key_set_age_seconds", {"listener": "agent"}),
        (2, "tollhouse_breaker_open", {"part": "email"}),
        (0, "tollhouse_breaker_open", {"part": "redis"}),
        (1, "tollhouse_audit_healthy", {}),
        (10, "tollhouse_audit_lines_total", {}),
        (2, "tollhouse_audit_owed_lines", {}),
        (0.5, "tollhouse_audit_lag_seconds", {}),
        (1, "tollhouse_journal_healthy", {}),
        (1, "tollhouse_registry_info", {"digest": "sha256:ab"}),
        (1, "tollhouse_build_info", {"version": "1.2.3"}),
        (4, "tollhouse_vault_leases", {"state": "held"}),
        (1, "tollhouse_vault_leases", {"state": "to_revoke"}),
        (1, "tollhouse_registry_reached", {}),
        (2, "tollhouse_registry_stale_tenants", {}),
        (2, "tollhouse_store_owed", {"part": "budgets"}),
        (5, "tollhouse_calls_closed_total", {"whose": "others"}),
        (6, "tollhouse_audit_late_lines", {}),
        (2, "tollhouse_deeds_total", {"kind": "decision", "outcome": "forbidden"}),
        (2, "tollhouse_outcomes_unknown", {}),
        (70.5, "tollhouse_outcomes_unknown_seconds", {}),
        (7, "tollhouse_handles_running", {}),
        (8, "tollhouse_watchers", {}),
        (4096, "tollhouse_artifact_bytes", {}),
        (9, "tollhouse_artifacts_dropped_total", {}),
        (13, "tollhouse_event_watchers", {}),
        (0, "tollhouse_audit_sink_up", {"sink": "otlp"}),
        (12, "tollhouse_audit_sink_behind_lines", {"sink": "otlp"}),
        (11, "tollhouse_audit_sink_missed_lines_total", {"sink": "otlp"}),
        (10, "tollhouse_audit_sink_rejected_lines_total", {"sink": "otlp"}),
    ],
)
def test_each_part_says_how_it_stands(expected: float, name: str, labels: dict[str, str]) -> None:
    """What the callable returned is what a scrape shows."""
    assert shown(every_part()).value(name, **labels) == expected


def test_every_gauge_is_read() -> None:
    """Each family that no count fills is filled by a deployment that has everything."""
    counted = {family.name for family, _ in Metrics().read()}
    present = {name for name, _ in shown(every_part()).samples}
    assert {each.name for each in f.FAMILIES} - counted <= present


def test_a_part_that_is_not_deployed_has_no_metric() -> None:
    """No vault is not a vault that is down."""
    assert shown(Gauges()).value("tollhouse_vault_up") is None
    assert shown(Gauges()).value("tollhouse_limiter_up") is None


def broken() -> Any:
    """What a part in trouble does."""
    raise RuntimeError("postgres://user:hunter2@db")


@pytest.mark.parametrize("part", [each.name for each in fields(Gauges)])
@pytest.mark.parametrize("ill", [broken, object])
def test_a_part_that_cannot_be_read_costs_its_own_metrics_alone(part: str, ill: Callable[[], Any]) -> None:
    """Whether it raises or answers nonsense: the scrape has everything else, and counts it at once."""
    whole = every_part()
    seen = shown(Gauges(**{each.name: getattr(whole, each.name) for each in fields(Gauges)} | {part: ill}))
    assert seen.value("tollhouse_scrape_errors_total", part=part) == 1
    missing = {key for key in shown(whole).samples if key not in seen.samples and not key[0].startswith("process_")}
    assert missing
    assert len(missing) <= len(f.Rule) * len(f.WhenDown) + 1
    assert "hunter2" not in str(seen)


def test_only_names_that_are_known_become_labels() -> None:
    """A host that an agent chose, or a rule nobody knows, has no series."""
    gauges = Gauges(
        breakers=lambda: {"email": 1, "internal.example:443": 1},
        key_set_ages=lambda: {"agent": 1.0, "nobody": 1.0},
        limiter=lambda: LimiterState(is_up=True, decided_while_down={("tool mail_send", "open"): 9}),
    )
    seen = shown(gauges)
    assert list(seen.labels("tollhouse_breaker_open")) == [{"part": "email"}]
    assert list(seen.labels("tollhouse_key_set_age_seconds")) == [{"listener": "agent"}]
    assert seen.total("tollhouse_limiter_decisions_while_down_total") == 0


def test_without_an_active_policy_there_is_no_age() -> None:
    """An age of zero would look like the newest policy of all."""
    seen = shown(Gauges(policy=lambda: policy(is_ready=False, revision="", age_seconds=0.0)))
    assert seen.value("tollhouse_policy_ready") == 0
    assert seen.value("tollhouse_policy_age_seconds") is None
    assert list(seen.labels("tollhouse_policy_info")) == []


def test_a_token_that_never_ends_has_no_seconds() -> None:
    """Nothing to alert on."""
    seen = shown(Gauges(vault=lambda: VaultState(is_up=True, token_seconds=None)))
    assert seen.value("tollhouse_vault_token_seconds") is None


def test_only_the_revision_that_is_active_has_a_series() -> None:
    """A hundred activations leave one."""
    revisions = iter(f"r{n}" for n in range(100))
    exposition = Exposition(Metrics(), Gauges(policy=lambda: policy(revision=next(revisions))), NAMES)
    for _ in range(99):
        scrape(exposition)
    assert list(scrape(exposition).labels("tollhouse_policy_info")) == [{"engine": "opa", "revision": "r99"}]


def test_a_revision_is_cut_and_cannot_break_the_format() -> None:
    """It comes from a bundle's manifest, and may hold anything."""
    ill = 'r"} 1\ntollhouse_ready 0\n\x00\\' + "x" * 1000
    (labels,) = shown(Gauges(policy=lambda: policy(revision=ill, engine="mine"))).labels("tollhouse_policy_info")
    assert labels["engine"] == "other"
    assert labels["revision"].startswith('r"} 1\ufffdtollhouse_ready 0\ufffd\ufffd\\xx')
    assert len(labels["revision"]) == 128
