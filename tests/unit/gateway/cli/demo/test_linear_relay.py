"""What the imitation of Linear lacks is taken out on the way to it, and nothing else."""

import json
from typing import Any

import aiohttp
from fakes.vendor import Asked, Said, vendor_server

from adapters.linear.documents import CREATE_ISSUE, LIST_TEAMS
from gateway.cli.demo.linear_relay import LACKS, linear_relay, without


async def _post(port: int, body: Any) -> Any:
    headers = {"Authorization": "lin_api_1"}
    async with aiohttp.request("POST", f"http://127.0.0.1:{port}/graphql", json=body, headers=headers) as answer:
        return answer.status, await answer.json()


def test_only_the_lines_that_it_lacks_are_taken_out() -> None:
    """Of the documents that it lacks some of; others stay as they are."""
    before, after = LIST_TEAMS.text.split("\n"), without(LIST_TEAMS.text).split("\n")
    assert [line.strip() for line in before if line not in after] == list(LACKS["ListTeams"])
    assert [line for line in before if line in after] == after
    assert without(CREATE_ISSUE.text) == CREATE_ISSUE.text


async def test_an_id_that_it_does_not_take_is_remembered() -> None:
    """Whoever made it can ask for what it made by its own id."""

    def linear(asked: Asked) -> Said:
        variables = json.loads(asked.body)["variables"]
        if "input" in variables:
            return Said({"data": {"issueCreate": {"issue": {"id": "theirs"}}}})
        return Said({"data": {"asked": variables["id"]}})

    async with vendor_server(linear) as server, linear_relay(server.url) as relay:
        await _post(relay.port, {"query": "mutation M { x }", "variables": {"input": {"id": "ours", "title": "T"}}})
        _, told = await _post(relay.port, {"query": "query Q { x }", "variables": {"id": "ours"}})
        _, bare = await _post(relay.port, {"query": "{ x }", "variables": {"id": "another"}})
    assert json.loads(server.asked[0].body)["variables"] == {"input": {"title": "T"}}
    assert server.asked[0].headers["Authorization"] == "lin_api_1"
    assert (told["data"]["asked"], bare["data"]["asked"]) == ("theirs", "another")


async def test_an_error_comes_through_as_it_is() -> None:
    """With its status."""
    said = Said({"errors": [{"message": "no"}]}, status=400)
    async with vendor_server(said) as server, linear_relay(server.url) as relay:
        assert await _post(relay.port, {"query": "{ x }"}) == (400, {"errors": [{"message": "no"}]})
