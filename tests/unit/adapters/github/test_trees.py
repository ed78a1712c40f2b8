"""What a commit holds under some paths."""

from typing import Any

import pytest
from fakes.cases.github import FOLDER, TREE, git, tree
from fakes.vendor import Desk, Said, VendorServer, desk, vendor_server

from adapters.base import AdapterError, ErrorKind
from adapters.github.adapter import GitHubAdapter
from adapters.github.trees import Trees


def trees(at: Desk) -> Trees:
    """Of `acme/site`."""
    adapter = at.adapters["github"]
    assert isinstance(adapter, GitHubAdapter)
    return Trees(adapter.api, at.invocation({"owner": "acme", "repository": "site"}))


def paths(server: VendorServer) -> list[str]:
    """Which trees were read."""
    return [asked.path.rpartition("/")[2] for asked in server.asked]


async def test_folders_are_read_once_and_only_where_a_path_leads() -> None:
    """A whole tree may be too large."""
    async with vendor_server(git()) as server, desk(server) as at:
        found = await trees(at).entries(TREE, ["run", "docs/index", "docs/other", "nothing/at/all"])
    assert {path: entry.mode if entry else None for path, entry in found.items()} == {
        "run": "100755",
        "docs/index": "100644",
        "docs/other": None,
        "nothing/at/all": None,
    }
    assert paths(server) == [TREE, FOLDER]


@pytest.mark.parametrize("path", ["run/x", "link/x"])
async def test_a_path_through_a_file_or_a_link_leads_nowhere(path: str) -> None:
    """It would take the place of what is there."""
    async with vendor_server(git()) as server, desk(server) as at:
        with pytest.raises(AdapterError) as caught:
            await trees(at).entries(TREE, [path])
    assert caught.value.kind is ErrorKind.INVALID


async def test_a_folder_that_is_not_told_whole_is_not_written_into() -> None:
    """What is there could not be told from what is not."""
    async with vendor_server(Said(tree() | {"truncated": True})) as server, desk(server) as at:
        with pytest.raises(AdapterError) as caught:
            await trees(at).entries(TREE, ["a"])
    assert caught.value.kind is ErrorKind.TOO_LARGE


@pytest.mark.parametrize("listed", [[{}], [{"path": "a"}], [{"path": "a", "mode": 1, "type": "blob", "sha": "x"}]])
async def test_an_entry_of_another_shape_is_none(listed: list[Any]) -> None:
    """Never a crash."""
    async with vendor_server(Said({"tree": listed})) as server, desk(server) as at:
        assert await trees(at).entries(TREE, ["a"]) == {"a": None}
