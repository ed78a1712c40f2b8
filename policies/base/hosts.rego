# Which hosts may be reached.
#
# `arguments.host` is the host that the adapter read out of the URL, in lower case. An entry is a
# host, or `*.` and a domain for every host below it.
package gateway.authz

# Nobody reaches a blocked host.
denials contains {
	"code": "host_blocked",
	"message": told("Nobody may reach %v.", [input.arguments.host]),
	"advice": "Use another source.",
} if {
	input.arguments.host
	some entry in data.organisation.hosts.blocked
	is_host(input.arguments.host, entry)
}

# An agent with a list of hosts reaches no other one, and uses no tool that does not say which.
denials contains {
	"code": "host_not_granted",
	"message": "You may not reach this host.",
	"advice": told("Use only %v.", [listed(grant.hosts)]),
} if {
	grant.hosts
	not is_granted_host
}

is_granted_host if {
	some entry in grant.hosts
	is_host(input.arguments.host, entry)
}

# Without such a list, a person agrees before something is written to a strange host.
approvals contains {
	"code": "host_unknown",
	"message": told("%v is not a host that the organisation knows.", [input.arguments.host]),
	"advice": "Write only to hosts of the organisation, or wait for a person to approve.",
} if {
	input.arguments.host
	not grant.hosts
	input.tool.side_effect != "read"
	not is_known_host
}

is_known_host if {
	some entry in data.organisation.hosts.known
	is_host(input.arguments.host, entry)
}

is_host(host, entry) if {
	host == entry
}

is_host(host, entry) if {
	is_string(entry)
	startswith(entry, "*.")
	endswith(host, substring(entry, 1, -1))
}
