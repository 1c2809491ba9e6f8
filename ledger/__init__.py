"""The trusted base of anvil: all that an auditor must believe.

Event format, signatures, streams, Merkle tree, checkpoints, the append-only store and its
verification. This package opens no network connection, starts no container and renders no
document; `docs/format.md` is the normative text that it implements.
"""

if __name__ != "anvil.ledger":
    raise ImportError(
        "this package is 'anvil.ledger'; importing it as "
        f"{__name__!r} would load every class twice. Install the project and import 'anvil.ledger'."
    )
