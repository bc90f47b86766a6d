"""A measurement counts every process, also those that outlive the one that started them."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

# A process that starts a second one and ends; the second burns half a second of CPU and holds 64 MB until it is done.
PROGRAM = """
import os, time
if os.fork() == 0:
    held = bytearray(os.urandom(1 << 20) * 64)
    while time.process_time() < 0.5:
        pass
    time.sleep(1)
    os._exit(0)
time.sleep(0.5 if {waits} else 0)
{end}
"""


def measured(tmp_path: Path, *, waits: bool) -> dict:
    """In a process of its own: a measurement adopts orphans."""
    end = "os.wait()" if waits else "pass"
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(waits=waits, end=end))
    program = (
        "import json, sys; from dataclasses import asdict; from pathlib import Path; from measured_run import measure\n"
        "found = measure([sys.executable, sys.argv[1]], environment={}, output=Path(sys.argv[1] + '.out'), cwd=Path.cwd())\n"
        "print(json.dumps(asdict(found)))"
    )
    command = [sys.executable, "-c", program, str(script)]
    done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_memory_and_cpu_of_all_processes(tmp_path):
    found = measured(tmp_path, waits=True)
    assert found["processes"] == 2
    assert found["cpu_seconds"] >= 0.5
    assert found["first_cpu_seconds"] < found["cpu_seconds"] - 0.4
    assert 64 <= found["largest_pss_mb"] <= found["peak_pss_mb"] < 200
    assert found["seconds"] >= 1


def test_the_cpu_of_an_orphan_counts(tmp_path):
    assert measured(tmp_path, waits=False)["cpu_seconds"] >= 0.5
