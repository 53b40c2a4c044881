"""Other task runners: had from their registries, driven alike, measured beside `xargs`."""
