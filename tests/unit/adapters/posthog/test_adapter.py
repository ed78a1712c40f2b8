"""PostHog."""

from importlib.resources import files

import yaml

from adapters.base import SideEffect, Target
from adapters.installed import build_adapters
from gateway.clock import SystemClock

ROWS = yaml.safe_load(files("adapters.posthog").joinpath("tools.yaml").read_text("utf-8"))["tools"]


def test_operations_are_what_they_say() -> None:
    """One writes, is never repeated by itself and can be asked about afterwards."""
    operations = build_adapters(SystemClock())["posthog"].operations
    assert {name for name, one in operations.items() if one.side_effect is not SideEffect.READ} == {"capture_event"}
    assert operations["capture_event"].reconcile is not None
    assert not any(one.has_native_key for one in operations.values())
    assert all(one.needs_credential for one in operations.values())


def test_a_connection_is_judged_as_a_whole() -> None:
    """Its base URL, and what is PostHog's own."""
    target = Target(name="posthog", hosts=("elsewhere.example",), options={"token": "x"})
    problems = build_adapters(SystemClock())["posthog"].check_target(target)
    assert [word for word in ("token", "us.posthog.com", "project_id") if any(word in one for one in problems)] == [
        "token",
        "us.posthog.com",
        "project_id",
    ]


def test_what_may_name_a_person_is_private_in_the_rows() -> None:
    """What lines are broken down by, cells of tables, and whom a flag is for."""
    rows = {row["binding"]["operation"]: row for row in ROWS}
    private = {
        name: {pointer for pointer, how in row.get("field_sensitivity", {}).items() if how == "private"}
        for name, row in rows.items()
    }
    assert private["run_trend"] == {"/series/*/label", "/series/*/breakdown"}
    assert private["run_saved_query"] >= {"/series/*/breakdown", "/funnels/*/breakdown", "/table/rows"}
    assert private["get_feature_flag"] == {"/conditions/*/properties/*/value"}
    assert private["capture_event"] == {"/distinct_id"}
    for name in ("run_trend", "run_funnel", "run_retention", "list_events"):
        assert "/filters" in rows[name]["private_arguments"]
