"""Whether all is as it was before a campaign: the state recorded before, and gates compared after.

Nothing is put back here. Whoever runs the host does that; a gate only looks.
"""
