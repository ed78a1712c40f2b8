# The decision on every call. Where no rule answers there is no decision, and that is a denial.
package gateway.authz

# Reading what is harmless needs nothing but the tool's scopes.
decision := {"effect": "allow", "reasons": [], "obligations": []} if {
	input.tool.side_effect == "read"
	input.tool.risk == "low"
	has_every_scope
}

# Whatever else there is: no. An agent can read why, and what it can do.
else := {"effect": "deny", "reasons": [reason], "obligations": []} if {
	reason := {
		"code": "not_allowed_here",
		"message": "This policy allows nothing but harmless reads.",
		"advice": "Use a tool that only reads, or ask the operator to extend policies/gateway.rego.",
	}
}

has_every_scope if {
	every scope in input.tool.requires {
		scope in input.principal.scopes
	}
}
