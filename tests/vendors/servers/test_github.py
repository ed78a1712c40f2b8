"""GitHub as `emulate` imitates it: what an operation did is there afterwards, for whoever asks."""

import base64
import itertools
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from fakes.vendor import Desk, Said, desk, vendor_server
from real.emulate import Emulate

from adapters.base import AdapterError, ErrorKind, Finding, Happened, Invocation, Secret, Target
from adapters.installed import build_adapters
from gateway.clock import SystemClock

TOKEN = "test_token_user1"
"""Of octocat, who administers `acme`."""
SHOP = {"owner": "acme", "repository": "shop"}
NOBODYS = {"owner": "acme", "repository": "no-such-place"}
_turns = itertools.count(1)


class GitHub:
    """The adapter before the server, and the server itself for whoever looks at what became of it."""

    def __init__(self, at: Desk, url: str) -> None:
        self.at, self._url = at, url

    async def ask(self, operation: str, arguments: dict[str, Any], **more: Any) -> Any:
        """The structured output."""
        return (await self.at.ask("github", operation, arguments, **more)).structured

    async def refused(self, operation: str, arguments: dict[str, Any]) -> AdapterError:
        """The error that it ends with."""
        with pytest.raises(AdapterError) as caught:
            await self.ask(operation, arguments)
        return caught.value

    async def itself(self, method: str, path: str, **more: Any) -> Any:
        """What the server says without the adapter."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with aiohttp.request(method, f"{self._url}{path}", headers=headers, **more) as response:
            assert response.status < 300, await response.text()
            return await response.json()

    async def branch(self, base: str = "main") -> str:
        """A new branch of `acme/shop` with one commit of its own."""
        name = f"topic/{next(_turns)}"
        file = {"path": f"{name}.txt", "content": "hello\n"}
        arguments = {**SHOP, "branch": name, "message": "Begin", "files": [file], "start_from": base}
        await self.ask("commit_files", arguments, effect_id=f"begin {name}")
        return name

    async def pull_request(self) -> int:
        """A new pull request from such a branch."""
        arguments = {**SHOP, "title": "A change", "head": await self.branch(), "base": "main"}
        return int((await self.ask("open_pull_request", arguments))["number"])


@pytest.fixture
async def github(emulate: Emulate) -> AsyncIterator[GitHub]:
    """As somebody who may do everything."""
    async with desk(emulate.port("github"), credential=TOKEN) as at:
        yield GitHub(at, emulate.url("github"))


# -- issues -------------------------------------------------------------------------------------


@pytest.mark.proves("github", "create_issue", "success")
@pytest.mark.proves("github", "get_issue", "success")
async def test_an_issue_that_was_created_is_there(github: GitHub) -> None:
    """With its text, and without the mark that its body ends in."""
    made = await github.ask("create_issue", {**SHOP, "title": "Broken", "body": "Every **time**."})
    read = await github.ask("get_issue", {**SHOP, "number": made["number"]})
    assert (read["title"], read["body"], read["state"]) == ("Broken", "Every **time**.", "open")
    written = await github.itself("GET", f"/repos/acme/shop/issues/{made['number']}")
    assert written["body"].startswith("Every **time**.\n\n<!-- tollhouse-effect: ")


@pytest.mark.proves("github", "create_issue", "failure")
async def test_an_issue_of_a_repository_that_is_not_there_is_not_created(github: GitHub) -> None:
    """Certain."""
    error = await github.refused("create_issue", {**NOBODYS, "title": "Broken"})
    assert (error.kind, error.happened) == (ErrorKind.NOT_FOUND, Happened.NO)


@pytest.mark.proves("github", "get_issue", "failure")
async def test_an_issue_that_is_not_there_is_not_found(github: GitHub) -> None:
    """By its number."""
    assert (await github.refused("get_issue", {**SHOP, "number": 99_999})).kind is ErrorKind.NOT_FOUND


async def test_whether_an_issue_was_created_is_found_out(github: GitHub) -> None:
    """By the mark of its effect, and of no other."""
    arguments = {**SHOP, "title": "Broken again"}
    await github.ask("create_issue", arguments, effect_id="mine")
    assert await github.at.reconcile("github", "create_issue", arguments, effect_id="mine") is Finding.DONE
    assert await github.at.reconcile("github", "create_issue", arguments, effect_id="other") is Finding.STILL_UNKNOWN


@pytest.mark.proves("github", "comment_on_issue", "success")
async def test_a_comment_that_was_written_is_there_and_is_found(github: GitHub) -> None:
    """By the mark of its effect, and of no other."""
    number = (await github.ask("create_issue", {**SHOP, "title": "Talk"}))["number"]
    arguments = {**SHOP, "number": number, "body": "Seen."}
    made = await github.ask("comment_on_issue", arguments, effect_id="mine")
    (written,) = await github.itself("GET", f"/repos/acme/shop/issues/{number}/comments")
    assert (written["id"], written["body"].partition("\n")[0]) == (made["comment_id"], "Seen.")
    assert await github.at.reconcile("github", "comment_on_issue", arguments, effect_id="mine") is Finding.DONE
    assert (
        await github.at.reconcile("github", "comment_on_issue", arguments, effect_id="other") is Finding.STILL_UNKNOWN
    )


@pytest.mark.proves("github", "comment_on_issue", "failure")
async def test_a_comment_on_nothing_is_not_written(github: GitHub) -> None:
    """Certain."""
    error = await github.refused("comment_on_issue", {**SHOP, "number": 99_999, "body": "Seen."})
    assert (error.kind, error.happened) == (ErrorKind.NOT_FOUND, Happened.NO)


@pytest.mark.proves("github", "search_issues", "success")
@pytest.mark.proves("github", "search_issues", "paging")
async def test_a_search_finds_what_is_there_page_by_page(github: GitHub) -> None:
    """And nothing of another repository."""
    for number in range(3):
        await github.ask("create_issue", {**SHOP, "title": f"Zebra {number}"})
    await github.ask("create_issue", {"owner": "octocat", "repository": "hello-world", "title": "Zebra elsewhere"})
    arguments: dict[str, Any] = {"repositories": ["acme/shop"], "text": "zebra", "page_size": 2}
    first = await github.ask("search_issues", arguments)
    second = await github.ask("search_issues", {**arguments, "cursor": first["next_cursor"]})
    titles = [issue["title"] for page in (first, second) for issue in page["issues"]]
    assert sorted(titles) == ["Zebra 0", "Zebra 1", "Zebra 2"]
    assert (first["total_count"], second["next_cursor"]) == (3, None)


@pytest.mark.proves("github", "search_issues", "failure")
async def test_a_search_in_a_repository_that_cannot_be_searched_is_no_empty_list() -> None:
    """The server finds nothing where GitHub refuses, so this is against one of our own."""
    refusal = {"message": "Validation Failed", "errors": [{"field": "q", "message": "… cannot be searched …"}]}
    async with vendor_server(Said(refusal, status=422)) as server, desk(server) as at:
        error = await GitHub(at, server.url).refused("search_issues", {"repositories": ["acme/no-such-place"]})
    assert error.kind is ErrorKind.NOT_FOUND


# -- files --------------------------------------------------------------------------------------


@pytest.mark.proves("github", "commit_files", "success")
@pytest.mark.proves("github", "get_file", "success")
async def test_files_that_were_committed_are_there(github: GitHub) -> None:
    """Text and bytes, in folders, all in one commit; what was deleted is gone, and what was left alone is there."""
    branch = await github.branch()
    head = (await github.itself("GET", f"/repos/acme/shop/git/ref/heads/{branch}"))["object"]["sha"]
    picture = bytes(range(256))
    arguments = {
        **SHOP,
        "branch": branch,
        "message": "Change all",
        "files": [
            {"path": "docs/deep/er.md", "content": "# Grüße\n"},
            {"path": "logo.bin", "content": base64.b64encode(picture).decode(), "encoding": "base64"},
        ],
        "deleted_paths": [f"{branch}.txt"],
        "expected_head": head,
    }
    made = await github.ask("commit_files", arguments, effect_id="mine")
    assert (made["previous_head"], made["is_new_branch"]) == (head, False)
    text = await github.ask("get_file", {**SHOP, "path": "docs/deep/er.md", "ref": branch})
    data = await github.ask("get_file", {**SHOP, "path": "logo.bin", "ref": branch})
    assert (text["content"], text["encoding"]) == ("# Grüße\n", "utf-8")
    assert (base64.b64decode(data["content"]), data["encoding"]) == (picture, "base64")
    gone = await github.refused("get_file", {**SHOP, "path": f"{branch}.txt", "ref": branch})
    assert gone.kind is ErrorKind.NOT_FOUND
    assert (await github.ask("get_file", {**SHOP, "path": "README.md", "ref": branch}))["bytes"] > 0
    assert await github.at.reconcile("github", "commit_files", arguments, effect_id="mine") is Finding.DONE
    assert await github.at.reconcile("github", "commit_files", arguments, effect_id="other") is Finding.STILL_UNKNOWN


@pytest.mark.proves("github", "commit_files", "failure")
async def test_a_commit_on_a_branch_that_moved_on_is_a_conflict(github: GitHub) -> None:
    """The branch stays where it is."""
    branch = await github.branch()
    before = await github.itself("GET", f"/repos/acme/shop/git/ref/heads/{branch}")
    file = {"path": "a.txt", "content": "a"}
    arguments = {**SHOP, "branch": branch, "message": "Late", "files": [file], "expected_head": "0" * 40}
    error = await github.refused("commit_files", arguments)
    assert (error.kind, error.happened) == (ErrorKind.CONFLICT, Happened.NO)
    assert await github.itself("GET", f"/repos/acme/shop/git/ref/heads/{branch}") == before


async def test_a_preview_of_a_commit_says_what_is_new(github: GitHub) -> None:
    """And changes nothing."""
    branch = await github.branch()
    files = [{"path": f"{branch}.txt", "content": "other\n"}, {"path": "new.txt", "content": "new"}]
    adapter = github.at.adapters["github"].operations["commit_files"]
    prepared = adapter.prepare({**SHOP, "branch": branch, "message": "Try", "files": files})
    assert adapter.preview is not None
    shown = await adapter.preview(github.at.invocation(prepared))
    assert [(file["path"], file["change"], file["bytes"]) for file in shown["will_be"]["files"]] == [
        (f"{branch}.txt", "changed", 6),
        ("new.txt", "added", 3),
    ]
    assert [file["path"] for file in shown["was"]["files"]] == [f"{branch}.txt"]


@pytest.mark.proves("github", "get_file", "failure")
async def test_a_folder_and_nothing_are_no_files(github: GitHub) -> None:
    """Each is told apart."""
    await github.branch()
    assert (await github.refused("get_file", {**SHOP, "path": "nothing.txt"})).kind is ErrorKind.NOT_FOUND
    branch = await github.branch()
    assert (await github.refused("get_file", {**SHOP, "path": "topic", "ref": branch})).kind is ErrorKind.INVALID


# -- pull requests ------------------------------------------------------------------------------


@pytest.mark.proves("github", "open_pull_request", "success")
@pytest.mark.proves("github", "get_pull_request", "success")
async def test_a_pull_request_that_was_opened_is_there_and_is_found(github: GitHub) -> None:
    """By the mark of its effect, and of no other."""
    branch = await github.branch()
    arguments = {**SHOP, "title": "Take it", "head": branch, "base": "main", "body": "Please."}
    made = await github.ask("open_pull_request", arguments, effect_id="mine")
    read = await github.ask("get_pull_request", {**SHOP, "number": made["number"]})
    assert (read["title"], read["body"], read["head_branch"], read["base_branch"], read["state"]) == (
        "Take it",
        "Please.",
        branch,
        "main",
        "open",
    )
    assert await github.at.reconcile("github", "open_pull_request", arguments, effect_id="mine") is Finding.DONE
    assert (
        await github.at.reconcile("github", "open_pull_request", arguments, effect_id="other") is Finding.STILL_UNKNOWN
    )


@pytest.mark.proves("github", "open_pull_request", "failure")
async def test_a_pull_request_into_a_repository_that_is_not_there_is_not_opened(github: GitHub) -> None:
    """Certain."""
    error = await github.refused("open_pull_request", {**NOBODYS, "title": "No", "head": "topic", "base": "main"})
    assert (error.kind, error.happened) == (ErrorKind.NOT_FOUND, Happened.NO)


@pytest.mark.proves("github", "get_pull_request", "failure")
async def test_a_pull_request_that_is_not_there_is_not_found(github: GitHub) -> None:
    """By its number."""
    assert (await github.refused("get_pull_request", {**SHOP, "number": 99_999})).kind is ErrorKind.NOT_FOUND


@pytest.mark.proves("github", "list_pull_requests", "success")
@pytest.mark.proves("github", "list_pull_requests", "paging")
async def test_pull_requests_are_listed_page_by_page(github: GitHub) -> None:
    """Each once."""
    opened = {await github.pull_request() for _ in range(3)}
    cursor: str | None = None
    listed: list[int] = []
    for _ in range(50):
        page = await github.ask(
            "list_pull_requests", {**SHOP, "page_size": 2, **({"cursor": cursor} if cursor else {})}
        )
        listed += [one["number"] for one in page["pull_requests"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert cursor is None
    assert len(listed) == len(set(listed)) > 2
    assert opened <= set(listed)


@pytest.mark.proves("github", "list_pull_requests", "failure")
async def test_pull_requests_of_a_repository_that_is_not_there_are_not_found(github: GitHub) -> None:
    """Not an empty list."""
    assert (await github.refused("list_pull_requests", NOBODYS)).kind is ErrorKind.NOT_FOUND


@pytest.mark.proves("github", "request_review", "success")
async def test_a_review_that_was_requested_is_awaited(github: GitHub) -> None:
    """And it is shown before who would be asked."""
    number = await github.pull_request()
    arguments = {**SHOP, "number": number, "reviewers": ["Ann"]}
    operation = github.at.adapters["github"].operations["request_review"]
    assert operation.preview is not None
    shown = await operation.preview(github.at.invocation(operation.prepare(arguments)))
    assert (shown["was"]["reviewers"], shown["will_be"]["reviewers"]) == ([], ["ann"])
    assert await github.at.reconcile("github", "request_review", arguments) is Finding.STILL_UNKNOWN
    assert (await github.ask("request_review", arguments))["requested_reviewers"] == ["ann"]
    assert await github.at.reconcile("github", "request_review", arguments) is Finding.DONE


@pytest.mark.proves("github", "request_review", "failure")
async def test_a_review_of_nothing_is_not_requested(github: GitHub) -> None:
    """Certain."""
    error = await github.refused("request_review", {**SHOP, "number": 99_999, "reviewers": ["ann"]})
    assert (error.kind, error.happened) == (ErrorKind.NOT_FOUND, Happened.NO)


# -- checks -------------------------------------------------------------------------------------


@pytest.mark.proves("github", "list_check_runs", "success")
@pytest.mark.proves("github", "list_check_runs", "paging")
async def test_the_checks_of_a_branch_are_listed_page_by_page(github: GitHub) -> None:
    """With how they ended."""
    branch = await github.branch()
    head = (await github.itself("GET", f"/repos/acme/shop/git/ref/heads/{branch}"))["object"]["sha"]
    for name, conclusion in (("lint", "success"), ("tests", "failure"), ("types", "success")):
        run = {"name": name, "head_sha": head, "status": "completed", "conclusion": conclusion}
        await github.itself("POST", "/repos/acme/shop/check-runs", json=run)
    first = await github.ask("list_check_runs", {**SHOP, "ref": branch, "page_size": 2})
    second = await github.ask(
        "list_check_runs", {**SHOP, "ref": branch, "page_size": 2, "cursor": first["next_cursor"]}
    )
    runs = {run["name"]: run["conclusion"] for page in (first, second) for run in page["check_runs"]}
    assert runs == {"lint": "success", "tests": "failure", "types": "success"}
    assert (first["total_count"], second["next_cursor"]) == (3, None)


@pytest.mark.proves("github", "list_check_runs", "failure")
async def test_checks_of_a_repository_that_is_not_there_are_not_found(github: GitHub) -> None:
    """Not an empty list."""
    assert (await github.refused("list_check_runs", {**NOBODYS, "ref": "main"})).kind is ErrorKind.NOT_FOUND


# -- a GitHub App -------------------------------------------------------------------------------


async def test_an_installation_of_an_app_gets_a_token_by_its_private_key(emulate: Emulate) -> None:
    """The key signs, the token asks; both that and the proof of the App are learned as secrets."""
    port, clock = emulate.port("github"), SystemClock()
    adapters = build_adapters(clock, private_targets=[f"127.0.0.1:{port}"])
    operation = adapters["github"].operations["create_issue"]
    options = {"base_url": emulate.url("github"), "app_id": 12345, "installation_id": 100}
    learned: list[str] = []
    try:
        output = await operation.invoke(
            Invocation(
                arguments=operation.prepare({**SHOP, "title": "By an App"}),
                target=Target(name="c", account="acme/c", hosts=(f"127.0.0.1:{port}",), options=options),
                credential=Secret(emulate.app_key),
                deadline=clock.monotonic() + 10,
                effect_id="app",
                learn=lambda secret: learned.append(secret.reveal()),
            )
        )
    finally:
        for adapter in adapters.values():
            await adapter.close()
    assert output.structured["number"] > 0
    assert [secret[:4] for secret in learned] == ["eyJh", "ghs_"]
