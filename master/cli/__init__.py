"""The `bats` command line: a module per command, loaded when that command is called."""
