"""Between our adapter and an imitation of Linear that knows less of Linear's schema than Linear, as the demo has it."""

from gateway.cli.demo.linear_relay import LACKS, LinearRelay, linear_relay, without

__all__ = ["LACKS", "LinearRelay", "linear_relay", "without"]
