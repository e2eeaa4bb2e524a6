"""Tools that tests run in forks behave as processes of a shell."""

from __future__ import annotations

from pathlib import Path

from tool_server import run_program, run_tool, shell


def test_pipes_files_and_exit_codes(tmp_path: Path):
    (tmp_path / "double.py").write_text("import sys\nfor line in sys.stdin: print(2 * int(line))\n")
    double = "python-with-xonnc double.py"
    done = shell(
        f"seq 3 | {double} | {double} > four.txt\n! xonnc absent 2> error.txt\ncat four.txt", tmp_path
    )
    assert (done.returncode, done.stdout) == (0, "4\n8\n12\n"), done.stderr
    assert "absent" in (tmp_path / "error.txt").read_text()
    assert shell("onnx-opt --absent; echo reached", tmp_path).stdout == ""


def test_folder_environment_and_order_of_outputs(tmp_path: Path):
    (tmp_path / "told.py").write_text(
        "import os, sys\nprint(os.getcwd(), os.environ['SAID'], flush=True)\nsys.exit('ended')\n"
    )
    given = {"PATH": "/usr/bin:/bin", "SAID": "so"}
    done = run_tool(["python-with-xonnc", "told.py"], tmp_path, given, is_merged=True)
    assert (done.returncode, done.stdout) == (1, f"{tmp_path} so\nended\n")


def test_a_tool_that_is_killed_fails(tmp_path: Path):
    (tmp_path / "killed.py").write_text("import os\nos.kill(os.getpid(), 9)\n")
    assert run_program(tmp_path / "killed.py", cwd=tmp_path).returncode not in (0, 1)
    assert run_tool(["xonnc", "--version"], tmp_path).returncode == 0
