"""Run `xonnc` as `python -m xonnc`."""

from xonnc.tools.driver import main

if __name__ == "__main__":
    raise SystemExit(main())
