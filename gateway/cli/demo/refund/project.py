"""The second scene's deployment: a shop's support agent over Stripe, Linear, Slack and mail."""

from typing import Any

from gateway.cli.demo.backends import FIELD, Backends, write_private
from gateway.cli.demo.project import (
    MAIL_HOST,
    Project,
    copy_rows,
    listeners,
    mail_connection,
    settings_of,
    write_json,
)
from gateway.cli.demo.refund.shop import Shop
from gateway.cli.demo.refund.steps import TOOLS
from gateway.cli.demo.servers import World

TENANT = "shop"
AGENT = "support"
PERSON = "approver-2"
SECRETS = ("shop-stripe", "shop-linear", "shop-slack", "shop-mail")
"""Where OpenBao keeps each vendor's key."""

Json = dict[str, Any]

_SCOPES = ("stripe:read", "stripe:refund", "linear:read", "linear:write", "slack:read", "slack:write", "mail:send")


def reference_of(secret: str) -> str:
    """By which the gateway is lent it."""
    return f"vault:secret/{secret}#{FIELD}"


def write_refund_project(project: Project, world: World, shop: Shop, backends: Backends) -> None:
    """Settings, registry and what the gateway signs in with, for servers that are running."""
    write_private(project.role_id_file, backends.role_id)
    write_private(project.secret_id_file, backends.secret_id)
    hosts = _hosts(world, shop)
    write_json(project.settings, _settings(project, backends, hosts))
    copy_rows(project, set(TOOLS.values()))
    write_json(project.root / "registry" / "connections.yaml", {"connections": _connections(project, world, shop)})
    write_json(project.root / "registry" / "agents.yaml", {"agents": [_agent()]})


def _settings(project: Project, backends: Backends, hosts: dict[str, str]) -> Json:
    agent = {"kind": "fixed", "tenant": TENANT, "agent": AGENT, "scopes": list(_SCOPES)}
    person = {
        "kind": "fixed",
        "tenant": TENANT,
        "principal": PERSON,
        "principal_kind": "human",
        "roles": ["approver"],
    }
    return settings_of(project, backends) | {
        "listeners": listeners(project, agent, person),
        "credentials": [
            {"tenant": TENANT, "references": [reference_of(secret)], "hosts": [host]} for secret, host in hosts.items()
        ],
        "network": {"private_targets": [host for host in hosts.values() if not host.startswith(MAIL_HOST)]},
    }


def _hosts(world: World, shop: Shop) -> dict[str, str]:
    """By secret: the only host that may receive it."""
    return {
        "shop-stripe": _host(shop.stripe),
        "shop-linear": _host(shop.linear),
        "shop-slack": _host(shop.slack),
        "shop-mail": f"{MAIL_HOST}:{world.mail_port}",
    }


def _host(url: str) -> str:
    return url.removeprefix("http://").partition("/")[0]


def _connections(project: Project, world: World, shop: Shop) -> list[Json]:
    urls = {"stripe": shop.stripe, "linear": shop.linear, "slack": shop.slack}
    return [
        *(
            {
                "name": vendor,
                "tenant": TENANT,
                "vendor": vendor,
                "hosts": [_host(url)],
                "options": {"base_url": url},
                "credential": reference_of(f"shop-{vendor}"),
            }
            for vendor, url in urls.items()
        ),
        mail_connection(project, world, TENANT, reference_of("shop-mail")),
    ]


def _agent() -> Json:
    """It may refund up to 100 dollars at once and 500 a day, and write to customers alone."""
    return {
        "name": AGENT,
        "tenant": TENANT,
        "tools": sorted(set(TOOLS.values())),
        "scopes": list(_SCOPES),
        "grants": {
            "stripe_create_refund": {"max_amount": {"USD": 100}},
            "linear_create_issue": {},
            "slack_post_message": {},
            "email_send": {"recipients": {"domains": ["customer.example"], "addresses": []}},
        },
        "budgets": [{"unit": "USD", "limit": 50_000, "scope": "agent_day"}],
    }
