# When something risky may be done.
#
# Off unless `data.organisation.hours.enabled` is true. Time is that of the call, so that a
# decision can be repeated later.
package gateway.authz

# What is of high risk happens while people are there to see it.
denials contains {
	"code": "out_of_hours",
	"message": "This tool is used during business hours only.",
	"advice": "Try again during business hours.",
} if {
	input.tool.risk == "high"
	input.tool.side_effect != "read"
	data.organisation.hours.enabled == true
	not is_business_hour
}

is_business_hour if {
	hours := data.organisation.hours
	moment := [time.parse_rfc3339_ns(input.call.time), hours.timezone]
	time.weekday(moment) in hours.days
	[hour, _, _] := time.clock(moment)
	hour >= hours.from
	hour < hours.until
}
