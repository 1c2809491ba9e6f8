"""What was recorded of a campaign, as the figures that summaries print: one module for each part of them."""
