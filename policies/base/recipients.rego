# Who may be written to.
#
# `arguments.recipients` is the list of lower-case addresses that the adapter parsed out of the
# call. What an agent typed is not looked at: only what would really be written to.
package gateway.authz

# Nobody writes to a blocked domain (`@evil.example`, `.evil.example` for all below it).
denials contains {
	"code": "recipient_blocked",
	"message": "Nobody may write to one of these recipients.",
	"advice": "Leave the recipient of a blocked domain out.",
} if {
	input.arguments.recipients
	strings.any_suffix_match(input.arguments.recipients, data.organisation.recipients.blocked)
}

# An agent with a list of recipients writes to nobody else.
denials contains reason if {
	grant.recipients
	not are_granted_recipients
	some reason in recipient_denials
}

# The usual case, all of them at granted domains, is written out: it is the one that has to be fast.
are_granted_recipients if {
	count(input.arguments.recipients) > 0
	every recipient in input.arguments.recipients {
		[_, domain] := split(recipient, "@")
		domain in grant.recipients.domains
	}
}

are_granted_recipients if {
	count(input.arguments.recipients) > 0
	every recipient in input.arguments.recipients {
		is_granted_recipient(recipient)
	}
}

is_granted_recipient(recipient) if {
	[_, domain] := split(recipient, "@")
	domain in grant.recipients.domains
}

is_granted_recipient(recipient) if {
	recipient in grant.recipients.addresses
}

# Each recipient that is not on the list is named.
recipient_denials contains {
	"code": "recipient_not_granted",
	"message": told("You may not write to %v.", [recipient]),
	"advice": told("Send only to %v, or ask a person to send it.", [granted_recipients]),
} if {
	some recipient in input.arguments.recipients
	not is_granted_recipient(recipient)
}

# A grant that names recipients covers no call that names none.
recipient_denials contains {
	"code": "recipients_missing",
	"message": "You may write to certain recipients only, and this call names none.",
	"advice": told("Send only to %v, or ask a person to send it.", [granted_recipients]),
} if {
	not names_recipients
}

names_recipients if {
	count(input.arguments.recipients) > 0
}

granted_recipients := listed(array.concat(
	[address | some address in grant.recipients.addresses],
	[told("addresses at %v", [domain]) | some domain in grant.recipients.domains],
))

# Without such a list, a person agrees before something leaves the organisation.
approvals contains {
	"code": "recipient_external",
	"message": "A recipient is outside the organisation.",
	"advice": "Send only to addresses of the organisation, or wait for a person to approve.",
} if {
	input.arguments.recipients
	not grant.recipients
	input.tool.side_effect != "read"
	not are_internal_recipients
}

are_internal_recipients if {
	every recipient in input.arguments.recipients {
		strings.any_suffix_match(recipient, data.organisation.recipients.internal)
	}
}
