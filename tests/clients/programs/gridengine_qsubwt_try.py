"""qsubwt: a job is over when the command is, and has written what it should."""

import json
import subprocess
import sys
from pathlib import Path

Path("job.sh").write_text("#$ -S /bin/sh\n#$ -o written -j y\nsleep 2\necho $JOB_NAME $NSLOTS\n")
command = [Path(sys.executable).parent / "qsubwt", "-N", "waited", "-cwd", "-q", "all.q", "job.sh"]
done = subprocess.run(command, capture_output=True, text=True, check=False)
print(json.dumps({"status": done.returncode, "written": Path("written").read_text(), "said": done.stderr}))
