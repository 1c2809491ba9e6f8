"""Eyes: components that look at the world, say what was seen and decide nothing.

Nothing is here yet but the package's place and its border (see docs/concepts.md).
"""

if __name__ != "anvil.collectors":
    raise ImportError(
        "this package is 'anvil.collectors'; importing it as "
        f"{__name__!r} would load every class twice. Install the project and import 'anvil.collectors'."
    )
