package gateway.authz_test

in_reports := {"paths": ["/reports/"]}

touch(grant, path) := decision if {
	decision := data.gateway.authz.decision with input as sending(grant, {"path": path})
}

test_any_path if {
	touch({}, "/notes/today").effect == "allow"
}

test_dots_within_a_name if {
	touch({}, "/notes/a..b").effect == "allow"
}

test_traversal_is_denied if {
	every path in ["/notes/../etc/passwd", "../x", "..", "/a/..", "a\\..\\b"] {
		decision := touch({}, path)
		decision.effect == "deny"
		"path_traversal" in codes(decision)
	}
}

test_traversal_is_denied_to_a_read if {
	decision := data.gateway.authz.decision with input as reading({}, {"path": "/notes/../x"})
	codes(decision) == {"path_traversal"}
}

test_below_a_granted_folder if {
	every path in ["/reports/q3.pdf", "/reports/2026/q3.pdf", "/reports"] {
		touch(in_reports, path).effect == "allow"
	}
}

test_outside_a_granted_folder if {
	every path in ["/reports-old/q3.pdf", "/other", "", "/", "reports/q3.pdf"] {
		codes(touch(in_reports, path)) == {"path_not_granted"}
	}
}

test_granted_prefix_without_slash_covers_nothing if {
	codes(touch({"paths": ["/reports"]}, "/reports/q3.pdf")) == {"path_not_granted"}
}

test_no_path_under_a_grant_for_some if {
	decision := data.gateway.authz.decision with input as sending(in_reports, {})
	codes(decision) == {"path_not_granted"}
}

test_protected_path_is_not_written if {
	every path in ["/.github/workflows/ci.yaml", "/.git", "/etc/passwd"] {
		codes(touch({}, path)) == {"path_protected"}
	}
}

test_protected_path_may_be_read if {
	data.gateway.authz.decision.effect == "allow" with input as reading({}, {"path": "/etc/hosts"})
}
