"""Pure folds over events, and a careful exit to documents.

Nothing is here yet but the package's place and its border (see docs/concepts.md).
"""

if __name__ != "anvil.projections":
    raise ImportError(
        "this package is 'anvil.projections'; importing it as "
        f"{__name__!r} would load every class twice. Install the project and import 'anvil.projections'."
    )
