"""An agent that writes to a file in what world it finds itself: descriptors, signals, umask, directory, environment."""

import json
import os
import sys
from pathlib import Path

facts = {
    "descriptors": sorted(int(path.name) for path in Path("/proc/self/fd").iterdir())[:-1],  # without the listing's own
    "signals": Path("/proc/self/status").read_text().partition("SigIgn:")[2].split()[0],
    "umask": os.umask(0),
    "cwd": str(Path.cwd()),
    "session": os.getsid(0) == os.getpid(),
    "environment": dict(os.environ),
}
Path(sys.argv[1]).write_text(json.dumps(facts))
