package gateway.authz_test

on_docs := {"hosts": ["docs.example", "*.corp.example"]}

fetch(grant, host) := decision if {
	decision := data.gateway.authz.decision with input as reading(grant, {"host": host})
}

test_any_host_may_be_read if {
	fetch({}, "anything.example").effect == "allow"
}

test_blocked_host if {
	decision := fetch({}, "169.254.169.254")
	decision.effect == "deny"
	codes(decision) == {"host_blocked"}
}

test_host_below_a_blocked_domain if {
	codes(fetch({}, "a.localhost")) == {"host_blocked"}
}

test_granted_hosts if {
	every host in ["docs.example", "a.corp.example", "b.a.corp.example"] {
		fetch(on_docs, host).effect == "allow"
	}
}

test_other_hosts_are_denied if {
	every host in ["evil.example", "corp.example", "evilcorp.example", "docs.example.evil", "x.docs.example"] {
		decision := fetch(on_docs, host)
		decision.effect == "deny"
		codes(decision) == {"host_not_granted"}
	}
}

test_no_host_under_a_grant_for_some if {
	decision := data.gateway.authz.decision with input as reading(on_docs, {})
	codes(decision) == {"host_not_granted"}
}

test_write_to_an_unknown_host_needs_approval if {
	decision := data.gateway.authz.decision with input as sending({}, {"host": "else.example"})
	decision.effect == "require_approval"
	codes(decision) == {"host_unknown"}
}

test_write_to_a_known_host if {
	decision := data.gateway.authz.decision with input as sending({}, {"host": "api.corp.example"})
		with data.organisation.hosts.known as ["*.corp.example"]
	decision.effect == "allow"
}

test_write_to_a_granted_host if {
	data.gateway.authz.decision.effect == "allow" with input as sending(on_docs, {"host": "docs.example"})
}
