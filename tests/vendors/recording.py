"""A plugin of pytest that notes what marked tests have proved."""

from collections import defaultdict

import pytest
from real.emulate import VERSION as EMULATE
from real.httpbin import VERSION as HTTPBIN
from real.localstripe import VERSION as LOCALSTRIPE
from real.mail import VERSION as MAIL
from real.mcp import VERSION as MCP_SERVERS
from vendors.proofs import Outcome, Proofs

SERVERS = {"emulate": EMULATE, "localstripe": LOCALSTRIPE, "httpbin": HTTPBIN, "mail": MAIL, "mcp_servers": MCP_SERVERS}
"""By fixture: the server that nobody here wrote, with its version."""


class Recording:
    """Notes the end of every test that has one of the marks of `vendors/conftest.py`."""

    def __init__(self) -> None:
        self.proofs = Proofs()
        self._items: dict[str, pytest.Item] = {}
        self._passed: dict[str, list[bool]] = defaultdict(list)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests: a report does not know their marks."""
        self._items = {item.nodeid: item for item in items}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test has passed when its preparation, itself and its clearing up have. What was skipped has not."""
        self._passed[report.nodeid].append(report.passed)
        if report.when == "teardown":
            self._note(self._items[report.nodeid], passed=all(self._passed.pop(report.nodeid)))

    def _note(self, item: pytest.Item, *, passed: bool) -> None:
        servers = tuple(SERVERS[name] for name in getattr(item, "fixturenames", ()) if name in SERVERS)
        for mark in item.iter_markers("proves"):
            vendor, operation, what = mark.args
            self.proofs.checks[vendor, operation, what].append(Outcome(passed, servers))
        for _ in item.iter_markers("row"):
            self.proofs.rows.append(passed)
        for mark in item.iter_markers("describes"):
            vendor, operation, description = mark.args
            self.proofs.descriptions[vendor, description][operation] = passed
