"""Several files in one commit on a branch."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from fakes.cases.github import GITHUB, HEAD, NEW_BLOB, NEW_COMMIT, NEW_TREE, NOT_FOUND, TREE, git
from fakes.vendor import Asked, Desk, Said, VendorServer, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.github.marks import has_trailer

ARGUMENTS: dict[str, Any] = GITHUB["commit_files"].arguments(0)


@pytest.fixture
async def server() -> AsyncIterator[VendorServer]:
    """A repository with the branch `cart`."""
    async with vendor_server(git()) as running:
        yield running


@pytest.fixture
async def at(server: VendorServer) -> AsyncIterator[Desk]:
    """The adapter before it."""
    async with desk(server) as one:
        yield one


def asked(server: VendorServer, method: str, end: str) -> Asked:
    """The one request of this method whose path ends so."""
    (found,) = [one for one in server.asked if one.method == method and one.path.endswith(end)]
    return found


async def refused(at: Desk, **more: Any) -> AdapterError:
    """The error that a commit ends with."""
    with pytest.raises(AdapterError) as caught:
        await at.ask("github", "commit_files", {**ARGUMENTS, **more})
    return caught.value


async def test_all_changes_are_one_commit_on_the_branch(at: Desk, server: VendorServer) -> None:
    """Text goes into the tree, bytes become a blob before, what is deleted has no id; the branch is not forced."""
    output = await at.ask("github", "commit_files", ARGUMENTS)
    assert asked(server, "POST", "/git/blobs").json == {"content": "AAEC", "encoding": "base64"}
    assert asked(server, "POST", "/git/trees").json == {
        "base_tree": TREE,
        "tree": [
            {"path": "docs/index", "mode": "100644", "type": "blob", "content": "new\n"},
            {"path": "run", "mode": "100755", "type": "blob", "sha": NEW_BLOB},
            {"path": "old", "mode": "100644", "type": "blob", "sha": None},
        ],
    }
    commit = asked(server, "POST", "/git/commits").json
    assert (commit["tree"], commit["parents"]) == (NEW_TREE, [HEAD])
    assert has_trailer(commit["message"], "eff-1")
    assert server.asked[-1].method == "PATCH"
    assert server.asked[-1].json == {"sha": NEW_COMMIT, "force": False}
    assert (output.structured["commit"], output.structured["previous_head"]) == (NEW_COMMIT, HEAD)
    assert [file["change"] for file in output.structured["files"]] == ["changed", "changed", "deleted"]


async def test_a_branch_that_is_not_where_it_was_expected_gets_nothing(at: Desk, server: VendorServer) -> None:
    """It is told before anything is made."""
    error = await refused(at, expected_head="9" * 40)
    assert (error.kind, error.happened) == (ErrorKind.CONFLICT, Happened.NO)
    assert not server.effects


async def test_a_new_branch_begins_at_another(at: Desk, server: VendorServer) -> None:
    """It comes to be with the commit, never before."""
    output = await at.ask("github", "commit_files", {**ARGUMENTS, "branch": "new", "start_from": "cart"})
    assert server.asked[-1].json == {"ref": "refs/heads/new", "sha": NEW_COMMIT}
    assert [one.path.rpartition("/")[2] for one in server.effects] == ["blobs", "trees", "commits", "refs"]
    assert output.structured["is_new_branch"] is True


async def test_a_branch_that_is_there_is_not_begun_again(at: Desk, server: VendorServer) -> None:
    """What it would start from is not looked at."""
    output = await at.ask("github", "commit_files", {**ARGUMENTS, "start_from": "main"})
    assert output.structured["is_new_branch"] is False
    assert not [one for one in server.asked if one.path.endswith("/main")]


async def test_a_branch_that_is_not_there_is_not_made_unasked(at: Desk, server: VendorServer) -> None:
    """A slip of the pen would become a branch."""
    error = await refused(at, branch="crat")
    assert (error.kind, error.happened) == (ErrorKind.NOT_FOUND, Happened.NO)
    assert not server.effects


async def test_a_new_branch_that_somebody_made_meanwhile_is_a_conflict() -> None:
    """Certain."""
    taken = Said({"message": "Reference already exists"}, status=422)
    async with vendor_server(git(POST_refs=taken)) as server, desk(server) as at:
        error = await refused(
            at, branch="new", start_from="cart", files=[{"path": "a", "content": "b"}], deleted_paths=[]
        )
    assert (error.kind, error.happened) == (ErrorKind.CONFLICT, Happened.NO)


async def test_what_breaks_before_the_branch_is_moved_did_nothing() -> None:
    """Objects to which nothing points are made again without harm."""
    async with vendor_server(git(POST_trees=Said({}, status=502))) as server, desk(server) as at:
        error = await refused(at)
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert error.attempts == 3


async def test_a_move_that_is_not_answered_is_not_repeated() -> None:
    """It may have happened."""
    async with vendor_server(git(PATCH_refs=Said(cut=True))) as server, desk(server) as at:
        error = await refused(at)
    assert error.happened is Happened.UNKNOWN
    assert len([one for one in server.asked if one.method == "PATCH"]) == 1


async def test_a_move_to_somewhere_else_is_no_success(at: Desk, server: VendorServer) -> None:
    """GitHub says where the branch is now; without that word nothing is claimed."""
    server.answer = git(PATCH_refs=Said({"ref": "refs/heads/cart", "object": {"sha": HEAD}}))
    error = await refused(at)
    assert (error.kind, error.happened) == (ErrorKind.CONFLICT, Happened.UNKNOWN)
    for said in (None, {}, {"object": None}):
        server.answer = git(PATCH_refs=Said(said))
        error = await refused(at)
        assert (error.kind, error.happened) == (ErrorKind.MALFORMED, Happened.YES)


async def test_a_preview_shows_each_file_and_changes_nothing(at: Desk, server: VendorServer) -> None:
    """What is there now, and what would be."""
    operation = at.adapters["github"].operations["commit_files"]
    assert operation.preview is not None
    shown = await operation.preview(at.invocation(operation.prepare({**ARGUMENTS, "deleted_paths": []})))
    assert shown == {
        "was": {"head": HEAD, "files": [{"path": "docs/index", "bytes": 6}, {"path": "run", "bytes": 6}]},
        "will_be": {
            "is_new_branch": False,
            "files": [
                {"path": "docs/index", "change": "changed", "bytes": 4},
                {"path": "run", "change": "changed", "bytes": 3},
            ],
        },
    }
    assert not server.effects


async def test_a_branch_with_slashes_is_asked_for_by_its_name() -> None:
    """Its slashes stay."""
    async with vendor_server(NOT_FOUND) as server, desk(server) as at:
        await refused(at, branch="feature/cart")
    assert server.asked[0].path == "/repos/acme/site/git/ref/heads/feature/cart"
