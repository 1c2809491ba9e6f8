"""The commands of the ledger, one file each. `anvil.ledger.cli` knows where they are."""
