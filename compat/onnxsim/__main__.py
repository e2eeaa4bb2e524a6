"""`python -m xonnc.compat.onnxsim`."""

from xonnc.compat.onnxsim.command_line import main

main()
