package gateway.authz_test

risky := object.union(sending({}, {}), {"tool": {"risk": "high"}})

approved(same) := object.union(risky, {"approval": {
	"id": "a1", "approvers": [], "revision": "sha256:0", "same_revision": same, "expires": "2026-01-02T00:00:00Z",
}})

test_high_risk_send_needs_approval if {
	decision := data.gateway.authz.decision with input as risky
	decision.effect == "require_approval"
	codes(decision) == {"high_risk"}
	kinds(decision) == {"approval", "log_level"}
}

test_high_risk_write_needs_approval if {
	decision := data.gateway.authz.decision with input as object.union(risky, {"tool": {"side_effect": "write"}})
	codes(decision) == {"high_risk"}
}

test_approval_under_this_policy_still_asks_for_it if {
	data.gateway.authz.decision.effect == "require_approval" with input as approved(true)
}

test_approval_under_another_policy_is_denied if {
	decision := data.gateway.authz.decision with input as approved(false)
	decision.effect == "deny"
	codes(decision) == {"approval_outdated"}
}

test_approval_under_another_policy_serves_low_risk if {
	data.gateway.authz.decision.effect == "allow" with input as object.union(approved(false), {"tool": {"risk": "low"}})
}

test_untrusted_output_is_marked if {
	decision := data.gateway.authz.decision with input as object.union(base, {"tool": {"trust": "untrusted"}})
	decision.effect == "allow"
	decision.obligations == [{"type": "mark_untrusted", "value": true}]
}

test_risky_read_is_logged_in_full if {
	decision := data.gateway.authz.decision with input as object.union(reading({}, {}), {"tool": {"risk": "high"}})
	decision.obligations == [{"type": "log_level", "value": "full"}]
}

test_obligations_of_a_grant if {
	wanted := [{"type": "max_result_bytes", "value": 100}, {"type": "rate", "value": {"per_minute": 1, "burst": 1}}]
	decision := data.gateway.authz.decision with input as sending({"obligations": wanted}, {})
	decision.effect == "allow"
	decision.obligations == wanted
}
