"""Every row of the tables: a vendor says this, and the agent is told that."""

import contextlib
from pathlib import Path
from typing import Any

import pydantic
import pytest
from _pytest.mark.structures import ParameterSet
from fakes.cases.every import CASES
from fakes.clock import FakeClock
from fakes.table import HttpRow, TableRow, row_params, rows_of, run_row, vendors_with_table

from adapters.installed import build_adapters

VENDORS = sorted(name for name, one in build_adapters(FakeClock()).items() if one.operations and name != "clock")
"""Everybody but the clock, whom nobody has to ask for anything, and those whose operations stand in rows."""
ELSEWHERE = {"email": Path(__file__).parent / "test_email_table.py"}
"""Vendors that are not asked over HTTP, and who runs their rows."""
LEAST_ROWS = 18
LEAST_ROWS_IN_ALL = 150
_HTTP = [vendor for vendor in vendors_with_table() if vendor not in ELSEWHERE]
_CASES = {(case.adapter, case.operation): case for case in CASES}


class AnyRow(TableRow):
    """A row of whatever kind, looked at for what all have."""

    model_config = pydantic.ConfigDict(extra="ignore")
    say: Any


def _params(vendor: str) -> list[ParameterSet]:
    """None of a table that cannot be read: `test_every_vendor_has_a_table` says so."""
    with contextlib.suppress(AssertionError):
        return row_params(vendor, HttpRow)
    return []


@pytest.mark.parametrize(("vendor", "row"), [param for vendor in _HTTP for param in _params(vendor)])
async def test_what_a_vendor_says_is_told_as_the_row_wants(vendor: str, row: HttpRow) -> None:
    """Code, wait, attempts, what happened, and how often the vendor was asked."""
    await run_row(_CASES[vendor, row.operation], row)


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_vendor_has_a_table(vendor: str) -> None:
    """Of eighteen rows at least, each of an operation of which there is a case, run by somebody."""
    rows = rows_of(vendor, AnyRow if vendor in ELSEWHERE else HttpRow)
    assert len(rows) >= LEAST_ROWS
    assert {(vendor, row.operation) for row in rows} <= _CASES.keys()
    assert vendor not in ELSEWHERE or ELSEWHERE[vendor].exists()


def test_there_are_many_rows() -> None:
    """Over all vendors, and of no vendor that nobody knows."""
    assert set(vendors_with_table()) == set(VENDORS)
    assert sum(len(rows_of(vendor, AnyRow)) for vendor in vendors_with_table()) >= LEAST_ROWS_IN_ALL
