"""What adapters ask fits what the vendors themselves wrote of their APIs."""

import asyncio
import functools

import pytest
from fakes.cases.every import API_CASES
from fakes.vendor import Asked
from vendors.descriptions.capture import captured
from vendors.descriptions.described import NAMES, check

UNDESCRIBED = {("slack", "upload_file"): "its description is older than the three steps that an upload takes now"}
"""Operations none of whose requests are described, and why."""


@functools.cache
def _checked(vendor: str) -> list[tuple[str, Asked, list[str] | None]]:
    """Every request of the vendor's operations: once for all tests, since a description takes its time to read."""
    requests = asyncio.run(captured(vendor))
    problems = check(vendor, [one.asked for one in requests])
    return [(one.operation, one.asked, found) for one, found in zip(requests, problems, strict=True)]


@pytest.mark.parametrize(
    ("vendor", "operation"),
    [
        pytest.param(case.adapter, case.operation, marks=pytest.mark.describes(case.adapter, case.operation, name))
        for case in API_CASES
        if (name := NAMES.get(case.adapter)) and (case.adapter, case.operation) not in UNDESCRIBED
    ],
)
def test_what_is_asked_fits_the_vendors_own_description(vendor: str, operation: str) -> None:
    """Method, path, query and body of every request, with the arguments of the case and of the vendor's table."""
    found = [(asked, problems) for of, asked, problems in _checked(vendor) if of == operation]
    assert [problems for _, problems in found if problems is not None], "nothing was asked that is described"
    wrong = [f"{asked.method} {asked.path}: {problem}" for asked, problems in found for problem in problems or ()]
    assert wrong == []
