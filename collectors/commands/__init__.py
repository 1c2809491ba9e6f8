"""The commands that look at the world: `anvil run`, `anvil recipe`."""
