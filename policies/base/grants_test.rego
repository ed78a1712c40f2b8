package gateway.authz_test

test_scope_missing if {
	decision := data.gateway.authz.decision with input as object.union(base, {"principal": {"scopes": ["web:write"]}})
	decision.effect == "deny"
	codes(decision) == {"scope_missing"}
}

test_each_missing_scope_is_told if {
	decision := data.gateway.authz.decision with input as object.union(base, {"tool": {"requires": ["a", "web:read", "b"]}})
	count(decision.reasons) == 2
}

test_send_without_grant_is_denied if {
	decision := data.gateway.authz.decision with input as object.union(base, {"tool": {"side_effect": "send"}})
	decision.effect == "deny"
	codes(decision) == {"not_granted"}
}

test_write_without_grant_is_denied if {
	decision := data.gateway.authz.decision with input as object.union(base, {"tool": {"side_effect": "write"}})
	codes(decision) == {"not_granted"}
}

test_grant_for_another_tool_is_none if {
	document := object.union(base, {"tool": {"side_effect": "write"}, "agent": {"grants": {"other": {}}}})
	decision := data.gateway.authz.decision with input as document
	codes(decision) == {"not_granted"}
}

test_grant_that_is_no_object_is_none if {
	document := object.union(base, {"tool": {"side_effect": "write"}, "agent": {"grants": {"act": true}}})
	decision := data.gateway.authz.decision with input as document
	codes(decision) == {"not_granted"}
}

test_risky_read_without_grant_is_denied if {
	decision := data.gateway.authz.decision with input as object.union(base, {"tool": {"risk": "medium"}})
	codes(decision) == {"not_granted"}
}

test_risky_read_with_grant_is_allowed if {
	data.gateway.authz.decision.effect == "allow" with input as object.union(reading({}, {}), {"tool": {"risk": "high"}})
}

test_another_agents_row_is_denied if {
	decision := data.gateway.authz.decision with input as object.union(base, {"agent": {"name": "other"}})
	decision.effect == "deny"
	codes(decision) == {"agent_mismatch"}
}
