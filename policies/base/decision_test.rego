package gateway.authz_test

# A harmless read by an agent that holds what the tool requires.
base := {
	"principal": {
		"tenant": "acme", "id": "helper-1", "kind": "agent", "agent": "helper",
		"scopes": ["web:read"], "roles": [], "claims": {}, "proof": "socket",
	},
	"agent": {
		"name": "helper", "scopes": ["web:read"], "roles": [], "groups": [],
		"grants": {}, "budgets": [], "caps": [], "collaborators": [],
	},
	"run": {"id": "", "step": ""},
	"tool": {
		"name": "act", "version": "1", "side_effect": "read", "risk": "low", "kind": "external",
		"groups": [], "requires": ["web:read"], "trust": "trusted", "sensitivity": "internal",
		"cost": {}, "vendor": "web", "operation": "act", "preview": false,
	},
	"connection": null,
	"arguments": {},
	"provenance": {},
	"approval": null,
	"call": {
		"id": "c1", "surface": "grpc", "mode": "", "time": "2026-01-05T12:00:00.000Z",
		"cost": {}, "key_given": false, "replay": false,
	},
}

# The same agent with a grant, sending something with these arguments.
sending(grant, arguments) := object.union(base, {
	"agent": {"grants": {"act": grant}},
	"tool": {"side_effect": "send", "risk": "medium"},
	"arguments": arguments,
})

# The same agent with a grant, reading something with these arguments.
reading(grant, arguments) := object.union(base, {
	"agent": {"grants": {"act": grant}},
	"arguments": arguments,
})

codes(decision) := {reason.code | some reason in decision.reasons}

kinds(decision) := {obligation.type | some obligation in decision.obligations}

test_harmless_read_is_allowed if {
	data.gateway.authz.decision == {"effect": "allow", "reasons": [], "obligations": []} with input as base
}

test_granted_send_is_allowed if {
	data.gateway.authz.decision.effect == "allow" with input as sending({}, {})
}

test_nothing_is_allowed_to_an_empty_document if {
	decision := data.gateway.authz.decision with input as {}
	decision.effect == "deny"
	"not_granted" in codes(decision)
}

test_a_denial_outweighs_an_approval if {
	document := object.union(sending({}, {"recipients": ["eve@else.example"]}), {"principal": {"scopes": []}})
	decision := data.gateway.authz.decision with input as document
	decision.effect == "deny"
	codes(decision) == {"scope_missing"}
	decision.obligations == []
}

test_an_approval_has_terms if {
	decision := data.gateway.authz.decision with input as sending({}, {"recipients": ["eve@else.example"]})
	decision.effect == "require_approval"
	decision.obligations == [{"type": "approval", "value": {"roles": ["approver"], "count": 1, "expires_in_seconds": 86400}}]
}

test_every_reason_says_what_to_do if {
	decision := data.gateway.authz.decision with input as object.union(sending({}, {}), {"principal": {"scopes": [], "agent": "other"}})
	count(decision.reasons) == 2
	every reason in decision.reasons {
		reason.message != ""
		reason.advice != ""
	}
}

test_more_reasons_than_fit_are_cut if {
	grant := {"recipients": {"domains": ["corp.example"]}}
	recipients := [sprintf("eve%d@evil.example", [n]) | some n in numbers.range(1, 50)]
	decision := data.gateway.authz.decision with input as sending(grant, {"recipients": recipients})
	decision.effect == "deny"
	count(decision.reasons) == 16
}

test_long_sentences_are_cut if {
	long := concat("", [sprintf("%d", [n]) | some n in numbers.range(1000, 1200)])
	grant := {"recipients": {"domains": [long, long]}, "hosts": [long], "paths": [long], "max_amount": {long: 1}}
	document := sending(grant, {"recipients": [long], "host": "h", "path": "/p", "amount": 1, "currency": "EUR"})
	decision := data.gateway.authz.decision with input as document
	codes(decision) == {"recipient_not_granted", "host_not_granted", "path_not_granted", "amount_not_granted"}
	every reason in decision.reasons {
		count(reason.message) <= 300
		count(reason.advice) <= 300
	}
}

test_a_grant_that_is_not_well_formed_still_denies if {
	every odd in [[], {}, [1], [null], [{}], [[1]], {"domains": [1], "addresses": [2]}] {
		every rule in ["recipients", "hosts", "paths", "max_amount"] {
			document := sending({rule: odd}, {"recipients": ["a@b.example"], "host": "h", "path": "/p"})
			decision := data.gateway.authz.decision with input as document
			decision.effect == "deny"
		}
	}
}
