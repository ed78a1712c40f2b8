"""Running the tests that come with a policy."""

import itertools

import pytest
from fakes.packs import ALLOW_ALL, pack

from gateway.policy.base import PolicyUnusable
from gateway.policy.testing import run_tests


def test_each_test_has_its_result() -> None:
    """File, name, truth, error and time, in order; the report passes when all do."""
    ticks = itertools.count()
    tests = "package t\n\ntest_good if true\n\ntest_bad if false\n\ntest_broken if 1 / 0 == 1"
    report = run_tests(pack(ALLOW_ALL, tests=tests), lambda: float(next(ticks)))
    assert [(each.file, each.name, each.is_passed, each.error, each.seconds) for each in report.results] == [
        ("policy_test.rego", "test_bad", False, "is not true", 1.0),
        ("policy_test.rego", "test_broken", False, "divide by zero at policy_test.rego:7:18", 1.0),
        ("policy_test.rego", "test_good", True, "", 1.0),
    ]
    assert not report.is_passed


def test_a_pack_without_tests_does_not_pass() -> None:
    """Nothing tested is nothing shown."""
    assert not run_tests(pack(ALLOW_ALL), lambda: 0.0).is_passed


def test_input_and_data_are_replaced() -> None:
    """`with input as` and `with data.x as` work, in one test as often as one likes."""
    tests = (
        "package t\n\ntest_x if {\n"
        '\tdata.gateway.authz.f == 3 with input as {"a": 1} with data.b as 2\n'
        '\tdata.gateway.authz.f == 5 with input as {"a": 2} with data.b as 3\n}'
    )
    report = run_tests(pack(f"{ALLOW_ALL}\n\nf := input.a + data.b", {"b": 9}, tests), lambda: 0.0)
    assert report.is_passed


def test_what_does_not_load_is_told() -> None:
    """A test that cannot be parsed is a problem, not a failure."""
    with pytest.raises(PolicyUnusable, match=r"policy_test\.rego"):
        run_tests(pack(ALLOW_ALL, tests="package"), lambda: 0.0)
