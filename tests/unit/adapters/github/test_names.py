"""Names by the rules of GitHub and of Git."""

from collections.abc import Callable

import pytest

from adapters.base import ArgumentProblem
from adapters.github import names
from adapters.transport.fields import Fields

Reads = Callable[[str, str, Fields], str]


def read(reads: Reads, text: str) -> str:
    """What it is read as; raises `ArgumentProblem`."""
    fields = Fields({})
    found = reads(text, "/it", fields)
    fields.checked({})
    return found


def is_refused(reads: Reads, text: str) -> bool:
    """Whether it is no such name."""
    try:
        read(reads, text)
    except ArgumentProblem:
        return True
    return False


@pytest.mark.parametrize("text", ["acme", "Acme", "a", "a-b-c", "0x", "ann_corp", "a" * 39])
def test_an_owner_is_read_in_lower_case(text: str) -> None:
    """GitHub does not tell the cases apart, so policy must not have to."""
    assert read(names.owner_of, text) == text.lower()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-a",
        "a-",
        "a--b",
        "a.b",
        "a/b",
        "..",
        "a b",
        "a_b_c",
        "ﬀ",
        "\uff21cme",
        "a\n",
        "a" * 40,
        "\u212aim",
        "\ud800",
    ],
)
def test_what_is_no_owner_is_refused(text: str) -> None:
    """Also letters that become others in lower case."""
    assert is_refused(names.owner_of, text)


@pytest.mark.parametrize("text", ["site", "Site.js", ".github", "a-b_c", "-", "_", "a" * 100])
def test_a_repository_is_read_in_lower_case(text: str) -> None:
    """As owners are."""
    assert read(names.repository_of, text) == text.lower()


@pytest.mark.parametrize("text", ["", ".", "..", "...", "a/b", "a b", "site.git", "site.GIT", "x.wiki", "a" * 101, "é"])
def test_what_is_no_repository_is_refused(text: str) -> None:
    """Nothing that leads elsewhere, and no suffix that GitHub takes away."""
    assert is_refused(names.repository_of, text)


def test_a_full_name_has_two_parts() -> None:
    """Both are checked."""
    assert read(names.full_name_of, "Acme/Site") == "acme/site"
    assert all(is_refused(names.full_name_of, text) for text in ("acme", "acme/", "/site", "acme/site/x", "a--b/c"))


def test_people_are_logins_each_once() -> None:
    """In order; the names of bots have a suffix of their own."""
    fields = Fields({})
    assert names.people_of(["Bob", "ann", "ANN", "renovate[bot]"], "/p", fields) == ["ann", "bob", "renovate[bot]"]
    names.people_of(["@ann", "ann", "a/b"], "/p", fields)
    with pytest.raises(ArgumentProblem) as caught:
        fields.checked({})
    assert [issue.path for issue in caught.value.issues] == ["/p/0", "/p/2"]


def test_teams_are_slugs_without_their_organisation() -> None:
    """In lower case, each once."""
    fields = Fields({})
    assert names.teams_of(["Web", "web", "back_end"], "/t", fields) == ["back_end", "web"]
    names.teams_of(["acme/web", ""], "/t", fields)
    with pytest.raises(ArgumentProblem) as caught:
        fields.checked({})
    assert [issue.rule for issue in caught.value.issues] == ["team", "team"]


def test_labels_keep_their_case_and_cannot_end_a_quotation() -> None:
    """A quote in one would let a search out of its repositories."""
    fields = Fields({})
    assert names.labels_of([" good first issue ", "Bug", "👩‍💻"], "/l", fields) == ["Bug", "good first issue", "👩‍💻"]
    names.labels_of(["a" * 50], "/l", fields)
    fields.checked({})
    for label in ('a" repo:evil/x "', "a\\", "a\nb", "", "a" * 51):
        bad = Fields({})
        names.labels_of([label], "/l", bad)
        with pytest.raises(ArgumentProblem):
            bad.checked({})


@pytest.mark.parametrize("text", ["main", "feature/cart", "v1.0", "a" * 40, "Ünïcode", "a@b", "1", "HEAD", "a" * 200])
def test_a_ref_is_taken_as_it_stands(text: str) -> None:
    """Git tells its cases apart."""
    assert read(names.ref_of, text) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "..", "@", "/a", "a/", "a//b", "a..b", ".a", "a/.b", "a.", "a.lock", "a.lock/b", "-a", "a b", "a~1"),
        *("a^", "a:b", "a?", "a*", "a[", "a\\b", "a@{1}", "a\x00", "a\n", "a\u202e", "refs/heads/a", "a" * 201),
        *("heads/main", "tags/v1", "remotes/origin/main"),
    ],
)
def test_what_git_does_not_take_for_a_ref_is_refused(text: str) -> None:
    """And the longer forms, which would be other names for a branch that policy knows by its short one."""
    assert is_refused(names.ref_of, text)


def test_a_branch_is_no_commit() -> None:
    """Nor the one that is checked out."""
    assert read(names.branch_of, "release/1.x") == "release/1.x"
    assert is_refused(names.branch_of, "A" * 40)
    assert is_refused(names.branch_of, "HEAD")


def test_a_commit_is_whole() -> None:
    """An abbreviation could come to mean another one."""
    fields = Fields({})
    assert names.commit_of(None, "/c", fields) is None
    assert names.commit_of("A" * 40, "/c", fields) == "a" * 40
    fields.checked({})
    names.commit_of("abc123", "/c", fields)
    with pytest.raises(ArgumentProblem):
        fields.checked({})
