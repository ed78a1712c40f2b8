package gateway.authz_test

pay(grant, amount, currency) := decision if {
	decision := data.gateway.authz.decision with input as sending(grant, {"amount": amount, "currency": currency})
}

test_small_amount if {
	pay({}, 1000, "EUR").effect == "allow"
}

test_more_than_the_soft_limit_needs_approval if {
	decision := pay({}, 1000.01, "EUR")
	decision.effect == "require_approval"
	codes(decision) == {"amount_over_soft_limit"}
}

test_more_than_the_hard_limit_is_denied if {
	decision := pay({}, 10000.01, "EUR")
	decision.effect == "deny"
	codes(decision) == {"amount_over_limit"}
}

test_unknown_currency_needs_approval if {
	decision := pay({}, 1, "XAU")
	decision.effect == "require_approval"
	codes(decision) == {"currency_unknown"}
}

test_no_currency_needs_approval if {
	decision := data.gateway.authz.decision with input as sending({}, {"amount": 1})
	codes(decision) == {"currency_unknown"}
}

test_amount_that_is_no_number_is_denied if {
	every amount in ["1", null, true, -1, [1], {}] {
		decision := pay({}, amount, "EUR")
		decision.effect == "deny"
		"amount_unreadable" in codes(decision)
	}
}

test_amount_of_a_read_is_not_moved if {
	data.gateway.authz.decision.effect == "allow" with input as reading({}, {"amount": "any", "currency": "EUR"})
}

test_within_a_grant if {
	pay({"max_amount": {"EUR": 500}}, 500, "EUR").effect == "allow"
}

test_more_than_a_grant_is_denied if {
	codes(pay({"max_amount": {"EUR": 500}}, 500.5, "EUR")) == {"amount_not_granted"}
}

test_grant_for_another_currency_is_none if {
	codes(pay({"max_amount": {"EUR": 500}}, 1, "USD")) == {"amount_not_granted"}
}

test_no_amount_under_a_grant_for_some if {
	decision := data.gateway.authz.decision with input as sending({"max_amount": {"EUR": 500}}, {})
	codes(decision) == {"amount_not_granted"}
}

test_a_grant_does_not_raise_the_organisations_limits if {
	pay({"max_amount": {"EUR": 100000}}, 2000, "EUR").effect == "require_approval"
	pay({"max_amount": {"EUR": 100000}}, 20000, "EUR").effect == "deny"
}
