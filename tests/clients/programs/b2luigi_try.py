"""b2luigi's htcondor batch: two tasks on the pool, one of them fed by the other."""

import json
import os
import sys
from pathlib import Path

import b2luigi

PLACE = Path(__file__).resolve().parent
os.chdir(PLACE)
b2luigi.set_setting("result_dir", str(PLACE / "results"))
b2luigi.set_setting("log_dir", str(PLACE / "logs"))
b2luigi.set_setting("batch_system", "htcondor")
b2luigi.set_setting("batch_status_cache_ttl", 1)
b2luigi.set_setting("executable", [sys.executable])
b2luigi.set_setting("htcondor_settings", {"request_memory": "50 MB", "request_cpus": "1", "request_disk": "1 MB"})
b2luigi.set_setting("working_dir", str(PLACE))
b2luigi.set_setting("env", {"PATH": os.environ["PATH"]})


class First(b2luigi.Task):
    def output(self):
        yield self.add_to_output("first.txt")

    def run(self):
        Path(self.get_output_file_name("first.txt")).write_text("41")


@b2luigi.requires(First)
class Second(b2luigi.Task):
    def output(self):
        yield self.add_to_output("second.txt")

    def run(self):
        number = int(Path(self.get_input_file_names("first.txt")[0]).read_text())
        Path(self.get_output_file_name("second.txt")).write_text(str(number + 1))


if __name__ == "__main__":
    b2luigi.process(Second(), batch=True, workers=2)
    # The jobs run this file, too.
    if "--batch-runner" not in sys.argv:
        print(json.dumps({"answer": Path(Second().get_output_file_name("second.txt")).read_text()}))
