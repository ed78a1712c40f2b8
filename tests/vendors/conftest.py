"""The marks by which `make vendors` counts what is proved."""

import pytest

MARKS = (
    "row(vendor): one row of a vendor's table",
    "proves(vendor, operation, what): what is one of success, failure, paging",
    "describes(vendor, operation, description): requests are checked against a description that the vendor wrote",
)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marks known."""
    for mark in MARKS:
        config.addinivalue_line("markers", mark)
