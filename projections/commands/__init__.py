"""The commands of the projections, one file each. `anvil.ledger.cli` knows where they are."""
