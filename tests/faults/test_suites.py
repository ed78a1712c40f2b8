"""Every fault suite in its quick form: the promises hold, and a removed guard is noticed."""

from pathlib import Path

import pytest
from faults.suites.listed import SUITES
from faults.suites.suite import Suite, recounted, report


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
async def test_it_holds(suite: Suite, tmp_path: Path) -> None:
    """As many cases as the quick form needs, no violation, and some without each of its guards; the artifacts alone
    say the same again.
    """
    done = await report(suite, tmp_path, is_quick=True)
    assert done.counts.violations == ()
    assert done.missing == ()
    assert set(done.mutants) == set(suite.mutants)
    assert {name: seen > 0 for name, seen in done.mutants.items()} == dict.fromkeys(suite.mutants, True)
    assert recounted(suite, tmp_path, is_quick=True, seconds=done.seconds) == done
