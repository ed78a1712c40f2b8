"""The table of metrics: closed sets that agree with what they are taken from, and a page that says the same."""

import typing
from pathlib import Path

from gateway.audit.base import LineKind
from gateway.errors import Reason
from gateway.metrics import events, upkeep
from gateway.metrics import families as f
from gateway.metrics.family import Family, Type
from gateway.settings.limits import WhenDown, WhenDownSettings

PAGE = Path(__file__).parents[4] / "docs" / "metrics.md"
ROW = "| `{name}` | {type} | {labels} | {help} |"
PRIVATE = {"tool", "agent", "tenant", "principal", "path", "call_id", "run_id", "connection", "host"}


def rows() -> list[str]:
    """The rows that the page must have."""
    return [
        ROW.format(
            name=each.name,
            type=each.type.value,
            labels=", ".join(f"`{label}`" for label in each.labels) or "none",
            help=each.help,
        )
        for each in f.FAMILIES
    ]


def test_the_page_holds_this_table_and_no_other_row() -> None:
    """docs/metrics.md has exactly the rows of FAMILIES, in their order."""
    assert [line for line in PAGE.read_text().splitlines() if line.startswith("| `tollhouse_")] == rows()


def test_every_expression_on_the_page_names_metrics_that_there_are() -> None:
    """An alert on a metric that does not exist would never fire."""
    known = {each.name for each in f.FAMILIES}
    endings = {f"{each.name}{end}" for each in f.FAMILIES for end in ("_bucket", "_sum", "_count")}
    words = PAGE.read_text().replace("`", " ").replace("{", " ").replace("(", " ").replace("[", " ").split()
    used = {word.strip(".,;:)") for word in words if word.startswith("tollhouse_")}
    assert used <= known | endings


def test_every_family_that_is_defined_is_listed_once() -> None:
    """A metric that is not in FAMILIES would be on no page."""
    defined = [value for module in (f, upkeep, events) for value in vars(module).values() if isinstance(value, Family)]
    assert sorted(each.name for each in defined) == sorted(each.name for each in f.FAMILIES)
    assert len({each.name for each in f.FAMILIES}) == len(f.FAMILIES)


def test_no_label_can_hold_what_a_caller_chose() -> None:
    """No tool, agent, tenant, principal, path, connection or host is a label."""
    assert not {label for each in f.FAMILIES for label in each.labels} & PRIVATE


def test_names_follow_their_type() -> None:
    """Counters end in _total, infos in _info, times in _seconds, as readers expect."""
    for each in f.FAMILIES:
        assert each.name.startswith("tollhouse_")
        assert (each.type is Type.COUNTER) == each.name.endswith("_total")
        assert (each.type is Type.INFO) == each.name.endswith("_info")
        assert each.type is not Type.HISTOGRAM or each.name.endswith("_seconds")


def test_kinds_are_those_of_the_audit() -> None:
    """A kind of line that metrics did not know would be counted as other."""
    assert {str(kind) for kind in f.Kind} == {str(kind) for kind in LineKind}


def test_rules_and_modes_are_those_of_the_settings() -> None:
    """What `limits.when_down` can be set for is what is counted."""
    assert {str(rule) for rule in f.Rule} == set(WhenDownSettings.model_fields) - {"replicas"}
    assert {str(mode) for mode in f.WhenDown} == set(typing.get_args(WhenDown))


def test_reasons_to_turn_away_are_reasons() -> None:
    """Every one that is not the transport's own is a Reason by the same name."""
    own = {"overloaded", "draining", "unreadable", "other"}
    assert {str(why) for why in f.TurnedAway} - own <= {str(reason) for reason in Reason}
