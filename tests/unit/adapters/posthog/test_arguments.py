"""What an agent sends to each operation."""

from typing import get_args, get_type_hints

from adapters.installed import build_adapters
from adapters.posthog import arguments
from gateway.clock import SystemClock


def test_no_operation_takes_a_querys_text() -> None:
    """An agent names events, properties, values and numbers of what was saved."""
    names = {
        name
        for operation in build_adapters(SystemClock())["posthog"].operations.values()
        for name in get_type_hints(operation.arguments)
    }
    assert not names & {"query", "hogql", "sql", "where", "select", "expression", "formula", "order_by"}


def test_nothing_that_posthog_reads_as_a_query_can_be_chosen() -> None:
    """Neither as whose property it is nor as what is measured; what is measured of a property is among the measures."""
    assert set(get_args(arguments.Of)) == {"event", "person"}
    assert not [measure for measure in get_args(arguments.Measure) if "hogql" in measure]
    assert set(get_args(arguments.Measure)) > arguments.OF_PROPERTY
