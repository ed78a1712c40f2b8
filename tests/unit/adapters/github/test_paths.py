"""Paths of files in a repository."""

import pytest

from adapters.base import ArgumentProblem
from adapters.github.paths import check_apart, path_in_repository, touches_workflows
from adapters.transport.fields import Fields


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "docs/a b.md",
        ".github/workflows/ci.yml",
        ".gitignore",
        ".gitattributes",
        "ä/ö",
        "git",
        "a..b",
        "x" * 400,
    ],
)
def test_a_path_is_taken_as_it_stands(path: str) -> None:
    """Relative to the root."""
    fields = Fields({})
    assert path_in_repository(path, "/path", fields) == path
    fields.checked({})


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", "/etc/passwd", "a/", "a//b", ".", "..", "...", "../a", "a/../b", "a/./b", "a\\b", "C:\\a", "a\nb"),
        *("a\x00", "\u202egpj", "\ud800", "x" * 401, ".git", ".git/config", "a/.GIT/hooks/x", ".git./x", ".git /x"),
        *("GIT~1/config", ".g\u200cit/x", ".git::$INDEX_ALLOCATION/x", "\uff0e\uff47\uff49\uff54/x"),
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    """Out of the repository, or into Git's own folder by any name that a file system would take for it."""
    fields = Fields({})
    path_in_repository(path, "/path", fields)
    with pytest.raises(ArgumentProblem) as caught:
        fields.checked({})
    assert [issue.path for issue in caught.value.issues] == ["/path"]


def test_a_path_is_there_once_and_no_folder_of_another() -> None:
    """A commit in which both are written would depend on their order."""
    fields = Fields({})
    check_apart({"/0": "a", "/1": "b/c", "/2": "b/d"}, fields)
    fields.checked({})
    check_apart({"/0": "a", "/1": "a", "/2": "b", "/3": "b/c"}, fields)
    with pytest.raises(ArgumentProblem) as caught:
        fields.checked({})
    assert [(issue.path, issue.rule) for issue in caught.value.issues] == [("/1", "unique"), ("/2", "folder")]


@pytest.mark.parametrize(
    ("path", "is_workflow"),
    [
        (".github/workflows/ci.yml", True),
        (".GitHub/Workflows/ci.yml", True),
        (".github/workflows", True),
        (".github/workflows/deep/x", True),
        (".github/workflows.md", False),
        ("docs/.github/workflows/ci.yml", False),
        (".github/CODEOWNERS", False),
    ],
)
def test_what_github_would_run_is_told(path: str, is_workflow: bool) -> None:
    """So that policy can forbid it."""
    assert touches_workflows(["README.md", path]) is is_workflow
