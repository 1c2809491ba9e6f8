"""What several test files share. Import it as `support.NAME`."""
