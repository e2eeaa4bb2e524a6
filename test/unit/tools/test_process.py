"""What tools do with warnings of passes."""

from __future__ import annotations

import pytest

from xonnc.rewriting.remarks import warn
from xonnc.tools.process import run


def test_warnings_go_to_standard_error_and_the_run_goes_on(capsys: pytest.CaptureFixture[str]):
    def work() -> int:
        warn("it is slow")
        return 0

    assert run("xonnc", work, []) == 0
    assert capsys.readouterr().err == "xonnc: warning: it is slow\n"
