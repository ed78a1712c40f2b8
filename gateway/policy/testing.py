"""Runs the tests that come with a policy: every rule `test_*` of every `*_test.rego`."""

from collections.abc import Callable
from dataclasses import dataclass

from gateway.policy.embedded import RuleRunner
from gateway.policy.pack import Pack


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """One test that was run."""

    __test__ = False  # pytest takes every class named so for a test of its own

    file: str
    name: str
    is_passed: bool
    error: str
    """Why it did not pass; empty when it did."""
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TestReport:
    """Every test of a pack, and what none of them reached."""

    __test__ = False

    results: tuple[TestResult, ...]
    not_reached: tuple[tuple[str, int], ...]
    """File and line of each rule, or part of one, that no test made to fire."""

    @property
    def is_passed(self) -> bool:
        """Whether there are tests and all of them passed."""
        return bool(self.results) and all(result.is_passed for result in self.results)


def run_tests(pack: Pack, clock: Callable[[], float]) -> TestReport:
    """The report on a pack's tests. `clock` counts seconds. Raises `PolicyUnusable` when it does not load."""
    runner = RuleRunner(pack)
    results = []
    for file, name, path in runner.test_rules():
        begun = clock()
        is_passed, error = runner.run(path)
        results.append(
            TestResult(file=file, name=name, is_passed=is_passed, error=error, seconds=clock() - begun),
        )
    return TestReport(results=tuple(results), not_reached=tuple(runner.lines_not_reached()))
