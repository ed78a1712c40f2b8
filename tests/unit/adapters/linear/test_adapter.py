"""Linear."""
