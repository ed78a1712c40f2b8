"""Which policy decides, and on what it is tried before it may."""

import asyncio
import io
import shutil
from pathlib import Path

from fakes.adapter import FakeAdapter
from fakes.audit import until
from fakes.made import MakingAdapter
from fakes.rows import tool
from fakes.served import settings_in

from gateway.app import build_gateway
from gateway.judging import _documents, default_pack, policy_events, policy_paths
from gateway.metrics.counts import Metrics
from gateway.registry.stored import EMPTY
from gateway.rows import Binding
from gateway.settings.load import Settings
from gateway.settings.policy import PolicySettings
from gateway.telemetry import configure


def test_the_built_in_pack_is_there() -> None:
    """With its rules and its data."""
    assert {path.suffix for path in default_pack().iterdir()} >= {".rego", ".json"}


def test_the_folders_of_the_settings_decide_or_the_built_in_pack(tmp_path: Path) -> None:
    """Never both."""
    assert policy_paths(Settings()) == (default_pack(),)
    assert policy_paths(Settings(policy=PolicySettings(paths=(tmp_path,)))) == (tmp_path,)


async def test_a_policy_that_is_taken_over_or_refused_is_counted(tmp_path: Path) -> None:
    """In the metrics, where alerts look for it."""
    folder = tmp_path / "policy"
    shutil.copytree(default_pack(), folder)
    settings = settings_in(tmp_path, policy=PolicySettings(paths=(folder,), reload_seconds=0.05))
    gateway = build_gateway(settings, adapters={"fake": FakeAdapter()})
    await gateway.start()
    counts = gateway._machinery.metrics._reloads
    try:
        assert counts["policy", "ok"] == 1
        (folder / "broken.rego").write_text("package tollhouse.gateway\n\ndeny if {")
        await asyncio.wait_for(until(lambda: counts["policy", "failed"] == 1), 10)
    finally:
        await gateway.stop()


def test_only_what_changes_a_policy_is_counted_as_a_change() -> None:
    """A warning about one is no other."""
    metrics = Metrics(listeners=[])
    on_event = policy_events(configure("error", io.StringIO()), metrics)
    on_event("policy_allows_anybody", {"revision": "r"})
    assert not any(metrics._reloads.values())
    on_event("policy_rejected", {"problem": "x"})
    assert metrics._reloads["policy", "failed"] == 1


def test_the_operation_of_a_row_is_made_once_for_all_that_a_policy_is_tried_on() -> None:
    """However many documents there are."""
    making = MakingAdapter()
    two = {"type": "object", "properties": {name: {"type": "string"} for name in "abc"}}
    bound = Binding(adapter="making", operation="say", connection="fake", options={"word": "hi"})
    documents = list(_documents([tool(input_schema=two, binding=bound)], EMPTY, {"making": making}))
    assert len(documents) > 1
    assert len(making.made) == 1
