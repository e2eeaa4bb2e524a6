"""`python -m xonnc.tools.onnx_dialect` writes the generated files."""

from xonnc.tools.onnx_dialect.generate import write

if __name__ == "__main__":
    write()
