"""What an adapter that makes operations is, and how it says what is wrong with a row."""

from fakes.adapter import FakeAdapter
from fakes.made import MakingAdapter

from adapters.base import ArgumentIssue
from adapters.recipes import MakesOperations, RecipeProblem


def test_an_adapter_that_makes_operations_is_told_from_one_that_has_them() -> None:
    """By what it can do."""
    assert isinstance(MakingAdapter(), MakesOperations)
    assert not isinstance(FakeAdapter(), MakesOperations)


def test_a_problem_names_every_place() -> None:
    """With its sentence."""
    issues = [ArgumentIssue(path=f"/{name}", rule="required", message="say it") for name in ("a", "b")]
    problem = RecipeProblem(*issues)
    assert problem.issues == tuple(issues)
    assert str(problem) == "/a: say it; /b: say it"
