package gateway.authz_test

to_corp := {"recipients": {"domains": ["corp.example"], "addresses": ["ann@else.example"]}}

mail(grant, recipients) := decision if {
	decision := data.gateway.authz.decision with input as sending(grant, {"recipients": recipients})
}

test_granted_domain if {
	mail(to_corp, ["bob@corp.example", "eve@corp.example"]).effect == "allow"
}

test_granted_address if {
	mail(to_corp, ["bob@corp.example", "ann@else.example"]).effect == "allow"
}

test_grant_of_addresses_alone if {
	mail({"recipients": {"addresses": ["ann@else.example"]}}, ["ann@else.example"]).effect == "allow"
}

test_other_domain_is_denied_and_named if {
	decision := mail(to_corp, ["bob@corp.example", "eve@evil.example"])
	decision.effect == "deny"
	decision.reasons == [{
		"code": "recipient_not_granted",
		"message": "You may not write to eve@evil.example.",
		"advice": "Send only to ann@else.example, addresses at corp.example, or ask a person to send it.",
	}]
}

test_each_other_recipient_is_named if {
	count(mail(to_corp, ["a@x.example", "b@x.example", "bob@corp.example"]).reasons) == 2
}

test_a_domain_is_the_whole_domain if {
	every recipient in [
		"eve@evil-corp.example", "eve@sub.corp.example", "eve@corp.example.evil", "corp.example", "eve@corp.example@evil",
		"eve@evil@corp.example", "@", "", "eve", "eve@CORP.example",
	] {
		mail(to_corp, [recipient]).effect == "deny"
	}
}

test_no_recipient_under_a_grant_for_some if {
	codes(mail(to_corp, [])) == {"recipients_missing"}
}

test_no_list_under_a_grant_for_some if {
	decision := data.gateway.authz.decision with input as sending(to_corp, {})
	decision.effect == "deny"
	codes(decision) == {"recipients_missing"}
}

test_empty_grant_of_recipients_grants_none if {
	codes(mail({"recipients": {}}, ["bob@corp.example"])) == {"recipient_not_granted"}
}

test_inside_the_organisation if {
	mail({}, ["bob@corp.example"]).effect == "allow"
}

test_outside_the_organisation_needs_approval if {
	decision := mail({}, ["bob@corp.example", "eve@else.example"])
	decision.effect == "require_approval"
	codes(decision) == {"recipient_external"}
}

test_recipients_of_a_read_are_not_written_to if {
	data.gateway.authz.decision.effect == "allow" with input as reading({}, {"recipients": ["eve@else.example"]})
}

test_blocked_domain if {
	decision := data.gateway.authz.decision with input as sending({"recipients": {"domains": ["evil.example"]}}, {"recipients": ["eve@evil.example"]})
		with data.organisation.recipients.blocked as ["@evil.example"]
	decision.effect == "deny"
	codes(decision) == {"recipient_blocked"}
}
