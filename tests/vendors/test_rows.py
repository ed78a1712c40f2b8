"""The tables' own reader and runner: a row that is wrong is seen to be."""

import copy
from pathlib import Path
from typing import Any

import pytest
from fakes.cases.every import API_CASES
from fakes.table import HttpRow, rows_of, run_row

READ, SEND = (
    next(case for case in API_CASES if case.name == name) for name in ("stripe.get_balance", "slack.post_message")
)
BUSY = {
    "name": "a vendor that is busy for long",
    "operation": "get_balance",
    "say": {"status": 503, "headers": {"Retry-After": "60"}},
    "want": {"code": "unavailable", "wait": 60.0, "attempts": 1, "happened": "no", "asked": 1},
}


def row(**changes: Any) -> HttpRow:
    """The row with other wants, or with something else said."""
    changed: dict[str, Any] = copy.deepcopy(BUSY)
    say = changes.pop("say", None)
    changed["want"] |= changes
    return HttpRow.model_validate(changed if say is None else changed | {"say": say})


async def test_what_is_wanted_and_comes_is_right() -> None:
    """As the row stands."""
    await run_row(READ, row())


@pytest.mark.parametrize(
    "changes",
    [
        {"code": "provider_error"},
        {"code": "ok"},
        {"wait": 61},
        {"wait": None},
        {"attempts": 2},
        {"happened": "unknown"},
        {"happened": "yes"},
        {"asked": 2},
    ],
    ids=str,
)
async def test_what_is_wanted_and_does_not_come_is_wrong(changes: dict[str, Any]) -> None:
    """Whichever part of it."""
    with pytest.raises(AssertionError):
        await run_row(READ, row(**changes))


async def test_answers_are_given_in_turn() -> None:
    """The case's own good answer among them, and the last one again and again."""
    busy = {"status": 503}
    await run_row(READ, row(say=[busy, "well"], code="ok", wait=None, attempts=2, happened="yes", asked=2))
    await run_row(READ, row(say=[busy, busy], wait=None, attempts=3, asked=3))


async def test_an_effect_of_which_nobody_knows_is_unknown() -> None:
    """As the gateway answers, whatever the adapter calls it."""
    await run_row(SEND, row(say={"cut": True}, code="outcome_unknown", wait=None, happened="unknown"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sy: {status: 404}", "table.yaml:5: unknown_key"),
        ("say: {status: 404, json: {}, body: x}", "json and body exclude each other"),
        ("say: well, want: {}", "yaml"),
        ("say: [{status: 404}, good]", "say"),
        ("say: {status: '404'}", "status"),
        ("say: {header: {}}", "unknown_key"),
    ],
)
def test_a_row_is_read_strictly(text: str, problem: str, tmp_path: Path) -> None:
    """With the line and the key."""
    lines = ("- name: a page that is not there", "  operation: fetch", "  want:")
    want = "    {code: not_found, attempts: 1, happened: 'no'}"
    (tmp_path / "table.yaml").write_text("\n".join((*lines, want, f"  {text}\n")))
    with pytest.raises(AssertionError, match=problem):
        rows_of("table", HttpRow, tmp_path)


def test_a_code_is_one_of_the_gateways(tmp_path: Path) -> None:
    """Or `ok`."""
    said = "- {name: a page that is not there, operation: fetch, say: well, want: %s}\n"
    want = "{code: nothing_found, attempts: 1, happened: 'no'}"
    (tmp_path / "table.yaml").write_text(said % want)
    with pytest.raises(AssertionError, match="'nothing_found' is not a valid Code"):
        rows_of("table", HttpRow, tmp_path)


def test_two_rows_have_two_names(tmp_path: Path) -> None:
    """Or nobody knows which of them failed."""
    one = (
        "- {name: a page that is there, operation: fetch, say: well, want: {code: ok, attempts: 1, happened: 'yes'}}\n"
    )
    (tmp_path / "table.yaml").write_text(one * 2)
    with pytest.raises(AssertionError, match="two rows have one name"):
        rows_of("table", HttpRow, tmp_path)
