"""The composition root: the only file that chooses implementations and wires them."""
