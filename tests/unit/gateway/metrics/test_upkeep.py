"""Metrics of what is kept: closed sets that agree with what they are taken from, and what each part says."""

import typing
from collections.abc import Iterable

from gateway.audit.base import LineKind
from gateway.audit.checkpointing import FileKeeper
from gateway.audit.outlets.following import SinkStatus
from gateway.audit.store_keeper import StoreKeeper
from gateway.errors import RefusedKind
from gateway.metrics import upkeep
from gateway.metrics.family import Reading
from gateway.settings.audit import SinkSettings

CALLS = {LineKind.CALL, LineKind.EXPLAIN, LineKind.EXECUTION}


def shown(readings: Iterable[Reading]) -> dict[str, object]:
    """By name, the values by labels."""
    return {family.name: dict(samples) for family, samples in readings}


def sink(name: str, *, is_up: bool = True) -> SinkStatus:
    """How a sink stands."""
    return SinkStatus(name=name, is_up=is_up, behind=3, missed=2, rejected=1, problem="")


def test_sinks_are_those_of_the_settings() -> None:
    """But for the files, which the audit itself is."""
    union, _ = typing.get_args(SinkSettings)
    kinds = {typing.get_args(each.model_fields["kind"].annotation)[0] for each in typing.get_args(union)}
    assert {str(each) for each in upkeep.Sink} == kinds - {"jsonl"}


def test_places_of_checkpoints_are_those_that_there_are() -> None:
    """A place that metrics did not know would be counted as other."""
    places = {FileKeeper.name, StoreKeeper.name}
    assert {str(each) for each in upkeep.CheckpointPlace} == places | {"other"}


def test_deeds_are_all_lines_that_tell_of_no_call() -> None:
    """By kind, and with every way in which one can end."""
    assert {str(each) for each in upkeep.DeedKind} == {str(kind) for kind in LineKind} - set(map(str, CALLS))
    assert {str(kind) for kind in RefusedKind} <= upkeep.DEED_OUTCOMES


def test_what_is_owed_is_told_apart_by_who_owes_it() -> None:
    """And whose calls were closed."""
    state = upkeep.StoreState(keys_owed=1, budgets_owed=2, handles_owed=3, own_closed=4, others_closed=5, late_lines=6)
    seen = shown(upkeep.of_store(state))
    assert seen["tollhouse_store_owed"] == {("keys",): 1, ("budgets",): 2, ("handles",): 3}
    assert seen["tollhouse_calls_closed_total"] == {("own",): 4, ("others",): 5}
    assert seen["tollhouse_audit_late_lines"] == {(): 6}


def test_deeds_are_there_from_zero_on() -> None:
    """The first increase can be seen."""
    assert shown(upkeep.of_deeds({}))["tollhouse_deeds_total"] == {
        ("admin", "ok"): 0,
        ("decision", "ok"): 0,
        ("resolution", "ok"): 0,
    }


def test_deeds_with_words_that_nobody_knows_are_counted_as_other() -> None:
    """Neither lost nor a label of their own."""
    counts = {("decision", "forbidden"): 2, ("k1", "o1"): 3, ("k2", "o2"): 4, ("admin", "ok"): 1}
    seen = shown(upkeep.of_deeds(counts))["tollhouse_deeds_total"]
    assert seen == {
        ("admin", "ok"): 1,
        ("decision", "ok"): 0,
        ("resolution", "ok"): 0,
        ("decision", "forbidden"): 2,
        ("other", "other"): 7,
    }


def test_each_sink_says_how_it_stands() -> None:
    """By its kind; one of a kind that the settings do not have has no series."""
    seen = shown(upkeep.of_sinks([sink("otlp", is_up=False), sink("https://collector.example")]))
    assert seen == {
        "tollhouse_audit_sink_up": {("otlp",): 0},
        "tollhouse_audit_sink_behind_lines": {("otlp",): 3},
        "tollhouse_audit_sink_missed_lines_total": {("otlp",): 2},
        "tollhouse_audit_sink_rejected_lines_total": {("otlp",): 1},
    }
