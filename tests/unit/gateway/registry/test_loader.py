"""Manifests become a catalogue, or every problem in them at once, each with file, line and rule."""

import copy
import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.adapter import FakeAdapter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.base import Adapter
from gateway.arguments.schema import compile_schema
from gateway.call import CallerKind, Principal, Surface
from gateway.documents import Problem
from gateway.errors import Reason, Refusal
from gateway.registry.loader import Loaded, load_registry
from gateway.settings.load import Settings
from gateway.settings.parts import CredentialGrant, ServerSettings

HERE = Path(__file__).parent
GOOD = HERE / "good.yaml"
CASES = sorted((HERE / "cases").glob("*.yaml"))
SETTINGS = Settings(
    known_scopes=("test:read", "test:write"),
    credentials=(
        CredentialGrant(
            tenant="acme",
            references=("env:FAKE_*", "file:/run/secrets/acme/*"),
            hosts=("api.fake.example",),
        ),
    ),
)


def load(*paths: Path, using: Settings = SETTINGS, **changes: Any) -> Loaded:
    """What comes of loading these with three fake adapters, one of which needs a credential."""
    adapters: dict[str, Adapter] = {
        "fake": FakeAdapter(),
        "other": FakeAdapter("other"),
        "locked": FakeAdapter("locked", needs_credential=True),
    }
    arguments = {"adapters": adapters, "settings": using, "compile_schema": compile_schema, **changes}
    return load_registry(paths, **arguments)


def written(folder: Path, **files: str) -> Path:
    """The folder, with these manifests in it."""
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def errors(loaded: Loaded) -> list[Problem]:
    """The problems that are no warnings."""
    return [problem for problem in loaded.problems if not problem.is_warning]


def changed(old: str, new: str) -> str:
    """The good manifest with one thing changed."""
    text = GOOD.read_text()
    assert old in text
    return text.replace(old, new, 1)


def test_a_good_manifest_loads_without_a_word() -> None:
    """Every case below differs from it in one thing."""
    loaded = load(GOOD)
    assert loaded.problems == ()
    assert loaded.catalogue is not None
    assert [tool.name for tool in loaded.catalogue.tools] == ["echo"]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_way_to_be_wrong_has_its_rule(path: Path) -> None:
    """The problem names the file and a line of it, and nothing is loaded."""
    want = path.read_text().partition("\n")[0].removeprefix("# want: ").split()
    loaded = load(path)
    assert loaded.catalogue is None
    found = errors(loaded)
    assert {problem.rule for problem in found} == set(want)
    assert {problem.file for problem in found} == {str(path)}
    assert all(0 < problem.line <= len(path.read_text().splitlines()) + 1 for problem in found)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_no_problem_repeats_a_pasted_secret(path: Path) -> None:
    """What stands where a reference should may be the secret itself."""
    assert "hunter2" not in " ".join(map(str, load(path).problems))


def test_all_problems_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    """Three files, three problems, in order."""
    written(
        tmp_path,
        a=GOOD.read_text(),
        b="agents:\n- {name: x, tenant: acme, tools: [nothing]}\n",
        c="agents:\n- {name: y, tenant: acme, colour: red}\n",
        d="tools: [\n",
    )
    assert [(Path(one.file).name, one.line, one.rule) for one in errors(load(tmp_path))] == [
        ("b.yaml", 2, "known_tools"),
        ("c.yaml", 2, "unknown_key"),
        ("d.yaml", 2, "yaml"),
    ]


def test_the_line_is_that_of_the_field(tmp_path: Path) -> None:
    """As a person would look for it."""
    text = changed("type: string", "type: integer")
    line = text.splitlines().index("      text:") + 1
    assert [problem.line for problem in errors(load(written(tmp_path, a=text)))] == [line]


def test_a_duplicate_says_where_the_first_is(tmp_path: Path) -> None:
    """Across files too."""
    written(tmp_path, a=GOOD.read_text(), b="agents:\n\n- {name: helper, tenant: acme}\n")
    (problem,) = errors(load(tmp_path))
    first = GOOD.read_text().splitlines().index("- name: helper") + 1
    assert (problem.rule, Path(problem.file).name, problem.line) == ("duplicate", "b.yaml", 3)
    assert f"a.yaml:{first}" in problem.message


def test_the_same_name_in_two_tenants_is_no_duplicate(tmp_path: Path) -> None:
    """Agents and connections belong to a tenant."""
    written(tmp_path, a=GOOD.read_text(), b="agents:\n- {name: helper, tenant: other}\n")
    assert errors(load(tmp_path)) == []


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("      text:\n        type: string\n", "      text:\n        type: string\n      mode:\n        enum: [a]\n",
         "mode_flag"),
        ("  input_schema:\n", "  input_schema:\n    anyOf: [{required: [text]}]\n", "strict_mode"),
    ],
)  # fmt: skip
def test_a_warning_is_said(tmp_path: Path, old: str, new: str, rule: str) -> None:
    """With its rule, and as a warning."""
    loaded = load(written(tmp_path, a=changed(old, new)))
    assert rule in {problem.rule for problem in loaded.problems if problem.is_warning}


def test_a_warning_does_not_stop_loading(tmp_path: Path) -> None:
    """The registry is there beside it."""
    old, new = "  input_schema:\n", "  input_schema:\n    anyOf: [{required: [text]}]\n"
    assert load(written(tmp_path, a=changed(old, new))).catalogue is not None


def test_what_an_adapter_says_of_a_connection_is_a_problem() -> None:
    """At the connection's line."""
    adapter = FakeAdapter()
    adapter.target_problems = ["option port is missing"]
    (problem,) = errors(load(GOOD, adapters={"fake": adapter}))
    assert (problem.rule, problem.message) == ("target", "option port is missing")
    assert problem.line == GOOD.read_text().splitlines().index("- name: fake") + 1


def test_folders_are_read_deep_and_in_order(tmp_path: Path) -> None:
    """YAML and JSON; several documents in a file; hidden names and other files are passed over."""
    deep = tmp_path / "b" / "c"
    deep.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    written(tmp_path, a="tools: []\n---\n" + GOOD.read_text())
    (deep / "more.json").write_text('{"agents": [{"name": "second", "tenant": "acme"}]}')
    (deep / "notes.txt").write_text("nothing: here")
    (deep / ".hidden.yaml").write_text("nothing: here")
    (tmp_path / ".git" / "x.yaml").write_text("nothing: here")
    loaded = load(tmp_path)
    assert loaded.catalogue is not None
    assert set(loaded.catalogue.agents) == {("acme", "helper"), ("acme", "second")}


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    """One inside of it is how Kubernetes mounts a ConfigMap, and is followed."""
    folder = tmp_path / "registry"
    (folder / "..data").mkdir(parents=True)
    (folder / "..data" / "good.yaml").write_text(GOOD.read_text())
    (folder / "good.yaml").symlink_to(folder / "..data" / "good.yaml")
    assert load(folder).catalogue is not None
    (tmp_path / "outside.yaml").write_text("agents: []")
    (folder / "bad.yaml").symlink_to(tmp_path / "outside.yaml")
    assert [problem.rule for problem in errors(load(folder))] == ["symlink"]


def test_a_path_that_does_not_exist_is_a_problem(tmp_path: Path) -> None:
    """And an empty folder a warning."""
    assert [problem.rule for problem in errors(load(tmp_path / "nowhere"))] == ["exists"]
    loaded = load(tmp_path)
    assert [(problem.rule, problem.is_warning) for problem in loaded.problems] == [("empty", True)]


def test_nothing_at_all_is_an_empty_catalogue() -> None:
    """In which no agent sees anything."""
    catalogue = load().catalogue
    assert catalogue is not None
    assert (catalogue.tools, dict(catalogue.agents)) == ((), {})


def test_builtin_tools_need_no_connection_until_an_agent_has_them(tmp_path: Path) -> None:
    """An adapter's own tools are there for whoever makes a connection."""
    tools = GOOD.read_text().partition("connections:")[0]
    builtin = {"adapters.fake/tools.yaml": tools}
    assert load(builtin=builtin).catalogue is not None
    written(tmp_path, a="agents:\n- {name: helper, tenant: acme, tools: [echo]}\n")
    (problem,) = errors(load(tmp_path, builtin=builtin))
    assert (problem.rule, problem.file) == ("connection", "adapters.fake/tools.yaml")
    assert [problem.rule for problem in errors(load(written(tmp_path, a=tools)))] == ["connection"]


def test_the_default_timeout_stays_within_the_settings() -> None:
    """30 s, or the longest that a call may take."""
    short = SETTINGS.model_copy(update={"server": ServerSettings(max_call_seconds=5)})
    for used, want in ((SETTINGS, 30_000), (short, 5_000)):
        catalogue = load(GOOD, using=used).catalogue
        assert catalogue is not None
        assert catalogue.tools[0].timeout_ms == want


def test_the_digest_is_of_what_the_rows_say(tmp_path: Path) -> None:
    """Not of comments, order or files; and of every field."""

    def digest(text: str) -> str:
        catalogue = load(written(tmp_path, a=text)).catalogue
        assert catalogue is not None
        return catalogue.digest

    first = digest(GOOD.read_text())
    assert first.startswith("sha256:")
    assert first == digest("# a comment\n" + GOOD.read_text())
    tools, _, rest = GOOD.read_text().partition("connections:")
    assert first == digest("connections:" + rest + tools)
    assert first != digest(changed("side_effect: read", "side_effect: read\n  risk: high"))
    assert first != digest(changed("type: string", "type: string\n        maxLength: 9"))


def test_g13_no_schema_makes_the_registry_use_the_network(tmp_path: Path) -> None:
    """A listening stub gets no connection, at load or at the call, and the registry is refused."""
    hits: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as stub:
        stub.settimeout(0.3)

        def listen() -> None:
            try:
                hits.append(stub.accept())
            except OSError:  # nobody came, or the test is over
                return

        thread = threading.Thread(target=listen)
        thread.start()
        url = f"http://127.0.0.1:{stub.getsockname()[1]}/x.json"
        for index, key in enumerate(("$ref", "$dynamicRef", "$id", "$schema")):
            folder = tmp_path / str(index)
            folder.mkdir()
            text = changed("      text:\n        type: string\n", f"      text:\n        $ref: {url}\n")
            if key != "$ref":
                text = changed("  input_schema:\n", f"  input_schema:\n    {key}: {url}\n")
            rules = {problem.rule for problem in errors(load(written(folder, a=text)))}
            assert rules & {"remote_ref", "dialect"}
            assert load(folder).catalogue is None
        thread.join()
    assert hits == []


def test_tools_of_manifests_are_everybodys() -> None:
    """For people and for checks: whatever the tenant."""
    catalogue = load(GOOD).catalogue
    assert catalogue is not None
    for tenant in ("acme", "other"):
        assert catalogue.tool(tenant, "echo") is catalogue.tools[0]
        assert catalogue.tool(tenant, "nothing") is None


def test_a_tool_is_found_with_all_that_stands_behind_it() -> None:
    """Row, agent, connection, operation and compiled schemas."""
    catalogue = load(GOOD).catalogue
    assert catalogue is not None
    entry = catalogue.find(principal("acme", "helper"), "echo", Surface.GRPC)
    assert (entry.tool.name, entry.agent.name, entry.connection.credential) == ("echo", "helper", "env:FAKE_TOKEN")
    assert entry.operation.name == "echo"
    assert entry.schema.is_valid({"text": "a"})
    assert entry.output_schema is not None
    assert not entry.output_schema.is_valid({"nothing": 1})
    with pytest.raises(Refusal) as caught:
        catalogue.find(principal("other", "helper"), "echo", Surface.GRPC)
    assert caught.value.reason is Reason.TOOL_NOT_FOUND


def principal(tenant: str, agent: str) -> Principal:
    """A caller who is this agent."""
    return Principal(
        tenant=tenant,
        id=agent,
        kind=CallerKind.AGENT,
        agent=agent,
        scopes=frozenset(),
        roles=frozenset(),
        claims={},
        proof="socket",
        policy_json=b"{}",
    )


JUNK = st.sampled_from([None, 1, "x", [], {}, True, [1], {"a": 1}, "#/x", {"$ref": "#"}, {"type": 5}, {"enum": 5}])
KEYS = st.sampled_from(
    ["properties", "items", "anyOf", "enum", "required", "$ref", "default", "$defs", "type", "const", "allOf"]
)
GOOD_ROWS = json.dumps(yaml.safe_load(GOOD.read_text()))


def vandalise(data: st.DataObject, node: Any) -> None:
    """Put nonsense somewhere below the node."""
    if isinstance(node, dict) and data.draw(st.integers(0, 5)) == 0:
        node[data.draw(KEYS)] = copy.deepcopy(data.draw(JUNK))
    elif isinstance(node, dict) and node:
        key = data.draw(st.sampled_from(sorted(node)))
        if data.draw(st.integers(0, 5)) == 0:
            node[key] = copy.deepcopy(data.draw(JUNK))
        else:
            vandalise(data, node[key])
    elif isinstance(node, list) and node:
        vandalise(data, node[0])


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_nonsense_anywhere_is_a_problem_and_never_an_exception(data: st.DataObject) -> None:
    """Whatever stands in a manifest, loading comes back."""
    rows = json.loads(GOOD_ROWS)
    for _ in range(3):
        vandalise(data, rows)
    loaded = load(builtin={"x": json.dumps(rows)})
    assert (loaded.catalogue is None) == bool(errors(loaded))
