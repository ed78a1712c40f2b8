"""PostHog."""

from adapters.base import SideEffect, Target
from adapters.installed import build_adapters
from gateway.clock import SystemClock


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
