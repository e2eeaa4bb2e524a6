"""The subcommands of `xonnc`, a file each: `DESCRIPTION`, `add_arguments` and `run`."""
