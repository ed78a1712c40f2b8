# Run with: tollhouse policy test policies
package gateway.authz_test

time_now := {"name": "time_now", "side_effect": "read", "risk": "low", "requires": ["clock:read"]}

assistant := {"tenant": "acme", "agent": "assistant", "scopes": ["clock:read"]}

test_a_harmless_read_is_allowed if {
	data.gateway.authz.decision.effect == "allow" with input as {"tool": time_now, "principal": assistant}
}

test_a_missing_scope_is_denied if {
	stranger := object.union(assistant, {"scopes": []})
	data.gateway.authz.decision.effect == "deny" with input as {"tool": time_now, "principal": stranger}
}

test_what_writes_is_denied if {
	tool := object.union(time_now, {"side_effect": "write"})
	data.gateway.authz.decision.effect == "deny" with input as {"tool": tool, "principal": assistant}
}

test_what_is_risky_is_denied_with_advice if {
	tool := object.union(time_now, {"risk": "high"})
	decision := data.gateway.authz.decision with input as {"tool": tool, "principal": assistant}
	decision.effect == "deny"
	decision.reasons[0].advice != ""
}
