package gateway.authz_test

at(time, enabled) := decision if {
	decision := data.gateway.authz.decision with input as object.union(risky, {"call": {"time": time}})
		with data.organisation.hours.enabled as enabled
}

test_hours_are_off_by_default if {
	decision := data.gateway.authz.decision with input as object.union(risky, {"call": {"time": "2026-01-04T03:00:00.000Z"}})
	decision.effect == "require_approval"
}

# The fifth of January 2026 is a Monday, and Berlin is an hour ahead.
test_during_business_hours if {
	at("2026-01-05T06:00:00.000Z", true).effect == "require_approval"
	at("2026-01-05T17:59:59.999Z", true).effect == "require_approval"
}

test_out_of_hours if {
	every time in ["2026-01-05T05:59:59.999Z", "2026-01-05T18:00:00.000Z", "2026-01-04T12:00:00.000Z"] {
		decision := at(time, true)
		decision.effect == "deny"
		codes(decision) == {"out_of_hours"}
	}
}

test_hours_bind_high_risk_alone if {
	decision := data.gateway.authz.decision with input as object.union(sending({}, {}), {"call": {"time": "2026-01-04T03:00:00.000Z"}})
		with data.organisation.hours.enabled as true
	decision.effect == "allow"
}
