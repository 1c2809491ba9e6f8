"""One package for each kind of document. They do not know one another; `anvil.projections.document` lists them."""
