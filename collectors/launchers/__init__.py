"""Launchers: how an engine comes to run, is watched, kept and stopped. One file each behind one interface."""
