# METADATA
# title: The decision on what an operator does
# description: |
#   Changing the registry, stopping what must stop, saying what became of a call. Nothing is allowed unless a rule
#   permits it. An agent does none of it, whatever scopes it holds: it must not write what it may see or do.
# scope: package
package gateway.admin

# One denial is enough.
decision := {
	"effect": "deny",
	"reasons": array.slice([reason | some reason in denials], 0, 16),
	"obligations": [],
} if {
	denials != set()
}

# Nothing forbids it, and a rule permits it. Whatever is left is undefined, and an undefined answer is a denial.
else := {"effect": "allow", "reasons": [], "obligations": []} if {
	permitted
}

# The scope that opens each action; what is not listed here nobody may do.
scope := data.organisation.admin.scopes[input.admin.action]

permitted if {
	is_person_or_workflow
	scope in input.principal.scopes
}

is_person_or_workflow if {
	input.principal.kind in {"human", "workflow"}
}

denials contains {
	"code": "agent_cannot_administer",
	"message": "An agent may not do what operators do.",
	"advice": "Ask an operator.",
} if {
	not is_person_or_workflow
}

denials contains {
	"code": "scope_missing",
	"message": "You do not hold the scope that this needs.",
	"advice": told("Ask an administrator for the scope %v.", [scope]),
} if {
	not scope in input.principal.scopes
}

# What stands for no scope at all is not an action of this pack.
denials contains {
	"code": "action_unknown",
	"message": "The policy knows no such action, so nobody may do it.",
	"advice": "Ask whoever writes the policy.",
} if {
	not scope
}

# A sentence, cut to what a reason can hold.
told(format, values) := substring(sprintf(format, values), 0, 300)
