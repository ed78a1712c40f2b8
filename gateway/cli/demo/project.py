"""The demo's deployment, written as files: what `tollhouse serve` is started on."""

import json
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from gateway.cli.demo.backends import BUNDLE, FIELD, SECRET, Backends, write_private
from gateway.cli.demo.servers import HOST, World
from gateway.documents import read_document

TENANT = "demo"
AGENT = "reporter"
OTHER_AGENT = "secretary"
PERSON = "approver-1"
USERNAME = "gateway@corp.example"
MAIL_HOST = "localhost"
CONTROL = Path("people") / "control.sock"
CREDENTIAL = f"vault:secret/{SECRET}#{FIELD}"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Where the parts of the demo's deployment are."""

    root: Path
    socket: Path

    def below(self, name: str) -> "Project":
        """Another deployment, in folders of its own below this one's."""
        return Project(root=self.root / name, socket=self.socket.parent / name / self.socket.name)

    @property
    def settings(self) -> Path:
        """The settings file."""
        return self.root / "tollhouse.yaml"

    @property
    def state(self) -> Path:
        """The gateway's state: journal and audit."""
        return self.root / "state"

    @property
    def audit(self) -> Path:
        """The audit files."""
        return self.state / "audit"

    @property
    def control(self) -> Path:
        """The socket where people decide, in a folder that no other user may enter."""
        return self.socket.parent / CONTROL

    @property
    def checkpoints(self) -> Path:
        """Where signed checkpoints go: in a deployment another machine's disk."""
        return self.root / "witness"

    @property
    def secrets(self) -> Path:
        """The folder of what the gateway signs in to OpenBao with. The mail password is in no file."""
        return self.root / "secrets"

    @property
    def role_id_file(self) -> Path:
        """Who the gateway is to OpenBao."""
        return self.secrets / "role-id"

    @property
    def secret_id_file(self) -> Path:
        """The proof of it."""
        return self.secrets / "secret-id"

    @property
    def signing_key(self) -> Path:
        """What the policy is signed with."""
        return self.secrets / "signing-key.pem"

    @property
    def audit_key(self) -> Path:
        """What checkpoints of the audit are signed with."""
        return self.secrets / "audit.key"

    @property
    def bundle(self) -> Path:
        """The signed policy that OPA decides by."""
        return self.root / "policy" / "bundle.tar.gz"

    @property
    def opa_config(self) -> Path:
        """OPA's configuration."""
        return self.root / "opa.json"

    @property
    def logs(self) -> Path:
        """What the processes wrote: log, screen, answers."""
        return self.root / "logs"


def prepare_folders(project: Project) -> None:
    """Empty folders, whatever an earlier demo left. Only what a demo makes is removed."""
    private = (project.state, project.secrets, project.control.parent)
    public = (project.logs, project.root / "registry", project.bundle.parent, project.checkpoints)
    for folder in (*private, *public):
        shutil.rmtree(folder, ignore_errors=True)
    project.root.mkdir(parents=True, exist_ok=True)
    project.socket.parent.mkdir(parents=True, exist_ok=True)
    for folder in private:
        folder.mkdir(mode=0o700)
    for folder in public:
        folder.mkdir()


def write_project(project: Project, world: World, backends: Backends) -> None:
    """Settings, registry and what the gateway signs in with, for servers that are running."""
    write_private(project.role_id_file, backends.role_id)
    write_private(project.secret_id_file, backends.secret_id)
    write_json(project.settings, _settings(project, world, backends))
    copy_rows(project, ("web_fetch", "web_extract", "email_send"))
    write_json(project.root / "registry" / "tools.yaml", {"tools": [_office_time(), *_mail_tools()]})
    write_json(project.root / "registry" / "connections.yaml", {"connections": _connections(project, world)})
    write_json(project.root / "registry" / "agents.yaml", {"agents": _agents()})


def write_json(path: Path, value: Json) -> None:
    """JSON is YAML, and the demo writes what a program can be sure of."""
    path.write_text(json.dumps(value, indent=2) + "\n", "utf-8")


def copy_rows(project: Project, tools: Collection[str]) -> None:
    """The ready-made tools of these names, whose first word is their adapter's, as they stand."""
    for adapter in sorted({tool.partition("_")[0] for tool in tools}):
        rows = read_document(Path(str(files(f"adapters.{adapter}").joinpath("tools.yaml")))).value["tools"]
        chosen = [row for row in rows if row["name"] in tools]
        write_json(project.root / "registry" / f"{adapter}.yaml", {"tools": chosen})


def _settings(project: Project, world: World, backends: Backends) -> Json:
    agent = {"kind": "fixed", "tenant": TENANT, "agent": AGENT, "scopes": ["web:read", "mail:send", "clock:read"]}
    person = {
        "kind": "fixed",
        "tenant": TENANT,
        "principal": PERSON,
        "principal_kind": "human",
        "roles": ["approver"],
        "scopes": ["stop:write"],
    }
    mail = {"tenant": TENANT, "references": [CREDENTIAL], "hosts": [f"{MAIL_HOST}:{world.mail_port}"]}
    return settings_of(project, backends) | {
        "listeners": listeners(project, agent, person),
        "credentials": [mail],
        "network": {"private_targets": [f"{HOST}:{world.web_port}"]},
    }


def settings_of(project: Project, backends: Backends) -> Json:
    """What is the same for every gateway of the demo: where its state is, and what stands beside it."""
    opa = backends.opa_socket
    return {
        "state_dir": str(project.state),
        "audit": {"checkpoints": {"key_file": str(project.audit_key), "copy_to": str(project.checkpoints)}},
        "registry": {"paths": ["registry"]},
        "vault": {
            "addresses": [backends.vault_address],
            "auth": {
                "kind": "approle",
                "role_id_file": str(project.role_id_file),
                "secret_id_file": str(project.secret_id_file),
            },
            "mounts": [{"path": "secret", "version": 2}],
        },
        "limits": {"redis": {"url": f"unix:{backends.valkey_socket}"}},
        "policy": {} if opa is None else {"opa": {"url": f"unix:{opa}", "bundle": BUNDLE}},
    }


def listeners(project: Project, agent: Json, person: Json) -> list[Json]:
    """One for the agent, and one for a person, who approves and stops there, and where no tool can be called."""
    return [
        {"name": "agent", "address": f"unix:{project.socket}", "identity": agent},
        {
            "name": "people",
            "address": f"unix:{project.control}",
            "services": ["approval", "registry"],
            "identity": person,
        },
    ]


def _connections(project: Project, world: World) -> list[Json]:
    return [
        {"name": "web", "tenant": TENANT, "vendor": "web"},
        {"name": "clock", "tenant": TENANT, "vendor": "clock"},
        mail_connection(project, world, TENANT, CREDENTIAL),
    ]


def mail_connection(project: Project, world: World, tenant: str, credential: str) -> Json:
    """The mail account of a tenant."""
    options = {
        "host": MAIL_HOST,
        "port": world.mail_port,
        "tls": "starttls",
        "username": USERNAME,
        "from": USERNAME,
        "ca_file": str(project.root / "ca.pem"),
    }
    return {
        "name": "mail",
        "tenant": tenant,
        "vendor": "email",
        "hosts": [f"{MAIL_HOST}:{world.mail_port}"],
        "options": options,
        "credential": credential,
    }


def _agents() -> list[Json]:
    return [
        {
            "name": AGENT,
            "tenant": TENANT,
            "tools": ["web_fetch", "web_extract", "email_send", "announcement_send", "office_time"],
            "scopes": ["web:read", "mail:send", "clock:read"],
            "grants": {
                "email_send": {"recipients": {"domains": ["corp.example"], "addresses": []}},
                "announcement_send": {},
            },
            "caps": [{"limit": 1, "per": "total", "tools": ["web_extract"]}],
        },
        {"name": OTHER_AGENT, "tenant": TENANT, "tools": ["board_mail_send"], "scopes": ["mail:send"]},
    ]


def _office_time() -> Json:
    return {
        "name": "office_time",
        "title": "Time at the office",
        "description": "Tells the time in a time zone, such as Europe/Warsaw, which goes into `zone`.",
        "input_schema": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"zone": {"type": "string", "maxLength": 64}},
        },
        "requires": ["clock:read"],
        "side_effect": "read",
        "kind": "internal",
        "binding": {"adapter": "clock", "operation": "now", "connection": "clock"},
        "surfaces": ["grpc"],
        "trust": "trusted",
        "limits": {"rate": {"per_minute": 40, "burst": 3}},
    }


def _mail_tools() -> list[Json]:
    """Two more tools over the same mail account: one of high risk, and one of another agent."""
    return [
        _mail_tool("announcement_send", "Write to everybody", "high"),
        _mail_tool("board_mail_send", "Write to the board", "medium"),
    ]


def _mail_tool(name: str, title: str, risk: str) -> Json:
    return {
        "name": name,
        "title": title,
        "description": f"{title}: sends a mail with `subject` and `text` to the addresses in `to`.",
        "input_schema": {
            "type": "object",
            "additionalProperties": False,
            "required": ["to", "subject", "text"],
            "properties": {
                "to": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 50,
                    "items": {"type": "string", "minLength": 3, "maxLength": 400},
                },
                "subject": {"type": "string", "minLength": 1, "maxLength": 200},
                "text": {"type": "string", "minLength": 1, "maxLength": 100000},
            },
        },
        "requires": ["mail:send"],
        "side_effect": "send",
        "risk": risk,
        "binding": {"adapter": "email", "operation": "send", "connection": "mail"},
        "surfaces": ["grpc"],
        "idempotency": "required",
        "trust": "trusted",
    }
