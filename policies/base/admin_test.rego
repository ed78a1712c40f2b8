package gateway.admin_test

# A person who puts a tool, with the scope that this needs.
putting := {
	"principal": {
		"tenant": "acme", "id": "ann", "kind": "human", "agent": "",
		"scopes": ["registry:write"], "roles": [], "claims": {}, "proof": "jwt",
	},
	"admin": {"action": "registry.put", "kind": "tool", "name": "act", "before": null, "after": {"name": "act"}},
	"call": {"id": "d1", "time": "2026-01-05T12:00:00.000Z"},
}

doing(action, scopes) := object.union(putting, {"principal": {"scopes": scopes}, "admin": {"action": action}})

codes(decision) := {reason.code | some reason in decision.reasons}

test_a_person_with_the_scope_may if {
	data.gateway.admin.decision == {"effect": "allow", "reasons": [], "obligations": []} with input as putting
}

test_a_workflow_with_the_scope_may if {
	document := object.union(putting, {"principal": {"kind": "workflow"}})
	data.gateway.admin.decision.effect == "allow" with input as document
}

test_each_action_has_its_scope if {
	every action, scope in {
		"registry.put": "registry:write",
		"registry.delete": "registry:write",
		"registry.read": "registry:read",
		"stop.set": "stop:write",
		"stop.clear": "stop:write",
		"stop.read": "stop:read",
		"calls.list": "calls:resolve",
		"calls.resolve": "calls:resolve",
	} {
		data.gateway.admin.decision.effect == "allow" with input as doing(action, [scope])
		data.gateway.admin.decision.effect == "deny" with input as doing(action, ["other:write"])
	}
}

test_without_the_scope_it_is_denied if {
	decision := data.gateway.admin.decision with input as doing("registry.put", [])
	decision.effect == "deny"
	codes(decision) == {"scope_missing"}
}

test_an_agent_may_nothing if {
	decision := data.gateway.admin.decision with input as object.union(putting, {"principal": {"kind": "agent"}})
	decision.effect == "deny"
	codes(decision) == {"agent_cannot_administer"}
}

test_an_action_that_nobody_named_is_denied if {
	decision := data.gateway.admin.decision with input as doing("registry.burn", ["registry:write", "stop:write"])
	decision.effect == "deny"
	"action_unknown" in codes(decision)
}

test_nothing_is_allowed_to_an_empty_document if {
	decision := data.gateway.admin.decision with input as {}
	decision.effect == "deny"
	"agent_cannot_administer" in codes(decision)
}

test_every_reason_says_what_to_do if {
	document := object.union(doing("registry.put", []), {"principal": {"kind": "agent"}})
	decision := data.gateway.admin.decision with input as document
	count(decision.reasons) == 2
	every reason in decision.reasons {
		reason.message != ""
		reason.advice != ""
	}
}
