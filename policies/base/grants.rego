# Who may call what.
#
# Scopes open the door; a grant in the agent's own row opens it for what changes the world.
# `agent.grants[tool]` holds the argument rules of that agent for that tool, and may be empty.
package gateway.authz

# The agent's own rules for this tool; undefined when its row does not name the tool.
grant := input.agent.grants[input.tool.name]

# A named tool is permitted, within the rules that follow.
permitted if {
	is_object(grant)
}

# A harmless read needs its scopes and nothing else.
permitted if {
	input.tool.side_effect == "read"
	input.tool.risk == "low"
}

# What changes the world, or reads what is not harmless, must be granted to the agent by name.
denials contains {
	"code": "not_granted",
	"message": "You have no grant for this tool.",
	"advice": "Prepare a draft or use a harmless tool instead, or ask an administrator for a grant.",
} if {
	not permitted
}

# The caller and the row that speaks for it must be the same agent.
denials contains {
	"code": "agent_mismatch",
	"message": "The caller is not the agent whose rules apply.",
	"advice": "Stop, and tell an administrator.",
} if {
	not input.principal.agent == input.agent.name
}

# Every scope that the tool requires must be held.
denials contains {
	"code": "scope_missing",
	"message": told("This call needs the scope %v, which you do not hold.", [scope]),
	"advice": "Use another tool, or ask an administrator for the scope.",
} if {
	some scope in input.tool.requires
	not scope in input.principal.scopes
}
