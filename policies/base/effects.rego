# Side effect, risk and what comes with an answer.
package gateway.authz

# A person agrees before something of high risk is written or sent.
approvals contains {
	"code": "high_risk",
	"message": "This tool can do great harm, so a person has to agree to each use.",
	"advice": "Wait for the approval, and go on with other work meanwhile.",
} if {
	input.tool.risk == "high"
	input.tool.side_effect != "read"
}

# What was approved under another policy is not carried out when the risk is high.
denials contains {
	"code": "approval_outdated",
	"message": "The policy has changed since this call was approved.",
	"advice": "Make the call again, so that it is approved under the policy of today.",
} if {
	input.tool.risk == "high"
	input.approval != null
	not input.approval.same_revision
}

# What a stranger may have written is labelled as such.
obligations contains {"type": "mark_untrusted", "value": true} if {
	input.tool.trust == "untrusted"
}

# What is risky is written down in full.
obligations contains {"type": "log_level", "value": "full"} if {
	input.tool.risk == "high"
}

# An agent's row may add to it: a rate, a smaller answer, fields to leave out.
obligations contains obligation if {
	some obligation in grant.obligations
}
