# METADATA
# title: The policy of the benchmark
# description: |
#   The rules of the frozen yardstick, restated over the product's input document and decision. Who the
#   resource belongs to is the tenant of the connection; the caller's address is a claim; the hour is that
#   of the call. What was text glued onto a code is a message here.
# scope: package
package gateway.authz

tool := data.tools[input.tool.name]

decision := {
	"effect": "deny",
	"reasons": array.slice(array.concat([x | some x in deny], [x | some x in require_approval]), 0, 16),
	"obligations": [obligation | some obligation in obligations],
} if {
	deny != set()
}

else := {
	"effect": "require_approval",
	"reasons": array.slice([reason | some reason in require_approval], 0, 16),
	"obligations": [obligation | some obligation in obligations],
} if {
	require_approval != set()
}

else := {
	"effect": "allow",
	"reasons": [],
	"obligations": [obligation | some obligation in obligations],
} if {
	tool
}

# Who may call.

deny contains {"code": "unknown_tool"} if {
	not tool
}

deny contains {"code": "missing_scope", "message": scope} if {
	some scope in tool.scopes
	not scope in input.principal.scopes
	not role_holds(scope)
}

role_holds(scope) if {
	some role in input.principal.roles
	scope in data.role_scopes[role]
}

deny contains {"code": "tenant_mismatch"} if {
	input.principal.tenant != data.connections[input.connection.name].tenant
}

deny contains {"code": "tool_disabled"} if {
	tool.disabled == true
}

# Amounts.

deny contains {
	"code": "amount_over_hard_limit",
	"message": sprintf("%v>%v", [input.arguments.amount, tool.limits.hard]),
} if {
	input.arguments.amount > tool.limits.hard
	is_number(input.arguments.amount)
}

require_approval contains {"code": "amount_over_soft_limit"} if {
	input.arguments.amount > tool.limits.soft
}

# Recipients.

deny contains {"code": "recipient_domain", "message": recipient} if {
	tool.check_recipients
	not all_domains_ok
	some recipient in input.arguments.to
	not email_domain_ok(recipient)
}

all_domains_ok if {
	every recipient in input.arguments.to {
		[_, domain] := split(lower(recipient), "@")
		domain in data.email_domains
	}
}

email_domain_ok(address) if {
	parts := split(lower(address), "@")
	count(parts) == 2
	parts[1] in data.email_domains
}

require_approval contains {"code": "external_recipient"} if {
	home := concat("", ["@", data.home_domain])
	some recipient in input.arguments.to
	not endswith(lower(recipient), home)
}

# Paths.

deny contains {"code": "path_not_allowed"} if {
	_ = input.arguments.path
	not path_ok
}

path_ok if {
	not contains(input.arguments.path, "..")
	strings.any_prefix_match(input.arguments.path, data.path_prefixes)
	regex.match(`^/[A-Za-z0-9_\-./]+$`, input.arguments.path)
}

# Networks.

deny contains {"code": "network"} if {
	tool.networks
	not ip_ok
}

ip_ok if {
	some cidr in tool.networks
	net.cidr_contains(cidr, input.principal.claims.ip)
}

# Tags.

deny contains {"code": "tags_invalid"} if {
	some tag in input.arguments.tags
	not regex.match(`^[a-z0-9-]{1,20}$`, tag)
}

# Hours.

require_approval contains {"code": "out_of_hours"} if {
	tool.risk == "high"
	not office_hours
}

office_hours if {
	moment := time.parse_rfc3339_ns(input.call.time)
	hour := time.clock([moment, "UTC"])[0]
	hour >= 7
	hour < 19
	not time.weekday(moment) in {"Saturday", "Sunday"}
}

# Obligations.

obligations contains {"type": "redact", "value": {"paths": tool.redact}} if {
	tool.redact
}

obligations contains {"type": "log_level", "value": "full"} if {
	tool.risk == "high"
}
