# METADATA
# title: The decision on one tool call
# description: |
#   Nothing is allowed unless a rule permits it, and the strictest answer wins: one denial denies,
#   one wish for an approval asks for it. The other files of this package add to `denials`,
#   `approvals` and `obligations`; each reason has a code for machines, a message that says what is
#   wrong and advice that an agent can act on. A file whose rules need a certain argument keeps
#   them in a set of its own, which is looked at only when that argument needs a look.
# scope: package
package gateway.authz

# One denial is enough. All are told, up to the sixteen that a decision can hold.
decision := {
	"effect": "deny",
	"reasons": array.slice([reason | some reason in denials], 0, 16),
	"obligations": [],
} if {
	denials != set()
}

# Nothing forbids the call, and somebody has to agree to it.
else := {
	"effect": "require_approval",
	"reasons": array.slice([reason | some reason in approvals], 0, 16),
	"obligations": [obligation | some obligation in (obligations | approval_terms)],
} if {
	approvals != set()
}

# Nothing forbids the call, nobody has to agree, and a rule permits it. Whatever is left is
# undefined, and an undefined answer is a denial.
else := {
	"effect": "allow",
	"reasons": [],
	"obligations": [obligation | some obligation in obligations],
} if {
	permitted
}

# Who agrees, how many, and for how long the question stands.
approval_terms contains {"type": "approval", "value": data.organisation.approvals}

# A sentence, cut to what a reason can hold: a decision that says too much would be no decision.
told(format, values) := substring(sprintf(format, values), 0, 300)

# What a grant lists, in one line. Whatever is in it, this is defined: a denial hangs on it.
listed(values) := substring(concat(", ", [value | some value in values; is_string(value)]), 0, 200)
