"""The second scene is played where its vendors can be, and left out where they cannot."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.vendor import Said, vendor_server

from gateway.cli.demo.backends import Backends
from gateway.cli.demo.packages import Absent
from gateway.cli.demo.project import Project, prepare_folders
from gateway.cli.demo.refund import run
from gateway.cli.demo.refund.evidence import LeftOut
from gateway.cli.demo.refund.shop import Shop
from gateway.cli.demo.refund.steps import COMPLAINT, SAYS
from gateway.errors import StartError

BACKENDS = Backends(
    vault_address="http://127.0.0.1:1",
    role_id="",
    secret_id="",
    valkey_socket=Path("/v.sock"),
    opa_socket=None,
    root_token="",
)


def _quiet(_what: str, _detail: str) -> None:
    """Nobody watches."""


def _failing(error: Exception) -> Any:
    @contextlib.contextmanager
    def fails(*_arguments: Any) -> Iterator[None]:
        raise error
        yield

    return fails


def _project(root: Path) -> Project:
    made = Project(root=root, socket=root / "s")
    prepare_folders(made)
    return made


async def test_without_its_vendors_it_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the sentence that says what is missing; nothing was started."""

    def bring() -> None:
        raise Absent("there is no Node 20 or newer on PATH")

    monkeypatch.setattr(run, "bring", bring)
    assert await run.play_refund(_project(tmp_path), BACKENDS, _quiet) == LeftOut(
        why="there is no Node 20 or newer on PATH"
    )


async def test_vendors_that_do_not_start_are_no_reason_to_leave_it_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are there and broken: somebody has to know."""
    monkeypatch.setattr(run, "emulate", _failing(StartError("emulate did not start")))
    with pytest.raises(StartError, match="emulate did not start"):
        await run.play_refund(_project(tmp_path), BACKENDS, _quiet)


async def test_the_script_is_the_complaint_and_counts_refunds_at_stripe(tmp_path: Path) -> None:
    """Past the gateway."""
    async with vendor_server(Said({"data": [{"id": "re_1"}, {"id": "re_2"}]})) as server:
        shop = Shop(stripe=server.url, linear=server.url, slack=server.url, keys=run._new_keys())
        script = run._script(_project(tmp_path), shop)
        assert await script.done_before() == 2
    assert (script.told, script.says, script.waits) == (COMPLAINT, SAYS, "refund")
    assert script.agent == "gateway.cli.demo.refund.agent"


def test_what_all_of_the_demo_wrote_is_searched(tmp_path: Path) -> None:
    """The first scene's files as well, each once, by a name that tells them apart."""
    demo = _project(tmp_path)
    project = demo.below(run.REFUND)
    prepare_folders(project)
    (demo.logs / "openbao.log").write_text("a")
    (project.logs / "emulate.log").write_text("b")
    assert run._written(demo, project) == {"../logs/openbao.log": b"a", "logs/emulate.log": b"b"}


def test_keys_are_new_each_time_and_look_like_the_vendors() -> None:
    """By their beginning; none shows in a repr."""
    one, other = run._new_keys(), run._new_keys()
    assert {one.stripe, one.linear, one.slack}.isdisjoint({other.stripe, other.linear, other.slack})
    assert (one.stripe[:8], one.linear[:8], one.slack[:5]) == ("sk_test_", "lin_api_", "xoxb-")
    assert not [key for key in (one.stripe, one.linear, one.slack) if key in repr(one)]
