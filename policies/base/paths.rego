# Which paths may be touched.
#
# `arguments.path` is the path that the adapter normalised. A prefix ends with a slash and covers
# the folder itself and what lies below it: `/reports/` covers `/reports`, `/reports/q3.pdf` and
# not `/reports-old`.
package gateway.authz

# No path climbs out of where it begins.
denials contains {
	"code": "path_traversal",
	"message": "The path climbs upwards.",
	"advice": "Give the path without any `..`.",
} if {
	contains(input.arguments.path, "..")
	".." in split(replace(input.arguments.path, "\\", "/"), "/")
}

# Nothing is written where the organisation keeps what agents must not change.
denials contains {
	"code": "path_protected",
	"message": "This path is protected from changes.",
	"advice": "Write somewhere else, or ask a person to do it.",
} if {
	input.tool.side_effect != "read"
	folder := concat("", [input.arguments.path, "/"])
	strings.any_prefix_match(folder, data.organisation.paths.protected)
}

# An agent with a list of paths touches nothing else.
denials contains {
	"code": "path_not_granted",
	"message": "You may not touch this path.",
	"advice": told("Use only paths below %v.", [listed(grant.paths)]),
} if {
	grant.paths
	not is_granted_path
}

# A prefix without its slash covers nothing: it would cover `/reports-old` too.
is_granted_path if {
	folder := concat("", [input.arguments.path, "/"])
	some prefix in grant.paths
	is_string(prefix)
	endswith(prefix, "/")
	startswith(folder, prefix)
}
