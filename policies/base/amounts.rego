# How much may be moved at once.
#
# `arguments.amount` is a number of units of `arguments.currency`. Up to the soft limit nobody is
# asked, above the hard limit nobody may; an agent's own limit is hard.
package gateway.authz

limits := data.organisation.amounts[input.arguments.currency]

is_small_amount if {
	is_number(input.arguments.amount)
	input.arguments.amount >= 0
	input.arguments.amount <= data.organisation.amounts[input.arguments.currency].soft
}

is_amount if {
	is_number(input.arguments.amount)
	input.arguments.amount >= 0
}

# What is read, for instance to search for it, is not moved.
denials contains reason if {
	input.tool.side_effect != "read"
	_ = input.arguments.amount
	not is_small_amount
	some reason in amount_denials
}

# An amount that is no number cannot be compared with a limit.
amount_denials contains {
	"code": "amount_unreadable",
	"message": "The amount is not a number that can be checked.",
	"advice": "Give the amount as a number that is not negative.",
} if {
	not is_amount
}

# Nobody moves more than the organisation's hard limit.
amount_denials contains {
	"code": "amount_over_limit",
	"message": told("%v is more than may be moved at once.", [input.arguments.amount]),
	"advice": told("Stay at or below %v %v.", [limits.hard, input.arguments.currency]),
} if {
	input.arguments.amount > limits.hard
}

# An agent with limits of its own keeps them, and moves nothing in a currency that they do not name.
denials contains {
	"code": "amount_not_granted",
	"message": "This amount is not within what you may move.",
	"advice": told("Stay within %v.", [json.marshal(grant.max_amount)]),
} if {
	grant.max_amount
	not is_granted_amount
}

is_granted_amount if {
	is_amount
	input.arguments.amount <= grant.max_amount[input.arguments.currency]
}

approvals contains reason if {
	input.tool.side_effect != "read"
	_ = input.arguments.amount
	not is_small_amount
	some reason in amount_approvals
}

# A person agrees to what is above the soft limit.
amount_approvals contains {
	"code": "amount_over_soft_limit",
	"message": told("%v is more than may be moved without a person.", [input.arguments.amount]),
	"advice": told(
		"Stay at or below %v %v, or wait for a person to approve.",
		[limits.soft, input.arguments.currency],
	),
} if {
	input.arguments.amount > limits.soft
}

# And to what is in a currency without limits.
amount_approvals contains {
	"code": "currency_unknown",
	"message": "The organisation has no limits for this currency.",
	"advice": "Use a currency that has limits, or wait for a person to approve.",
} if {
	not limits
}
