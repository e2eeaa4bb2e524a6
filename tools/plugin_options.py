"""`--plugin FILE` and `--no-plugins`, which every tool and command takes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from xonnc.tools.usage import UsageError


def add_plugin_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to the help text; `take_plugin_options` handles them before the parser."""
    group = parser.add_argument_group("plug-ins")
    group.add_argument(
        "--plugin",
        metavar="FILE",
        help="use the operators, rules and passes of this Python file; may be repeated",
    )
    group.add_argument(
        "--no-plugins", action="store_true", help="use no plug-ins of installed packages or of XONNC_PLUGINS"
    )


def take_plugin_options(argv: Sequence[str]) -> list[str]:
    """
    Load plug-ins and return the arguments without their options.

    Before anything else, since commands list the operators, passes and targets that there are.
    """
    # Imported late: it defines all operators, which the version and the list of commands do without.
    from xonnc.plugins import loading

    files: list[str] = []
    rest: list[str] = []
    arguments = iter(argv)
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if argument == "--no-plugins":
            loading.disable()
        elif name == "--plugin":
            given = value if equals else next(arguments, "")
            if not given:
                raise UsageError("--plugin needs a Python file")
            files.append(given)
        else:
            rest.append(argument)
            if argument == "--":
                rest.extend(arguments)
    loading.load_installed()
    for file in files:
        loading.load_file(file)
    return rest
