"""`python -m xonnc.compat.onnxoptimizer`."""

from xonnc.compat.onnxoptimizer.command_line import main

main()
