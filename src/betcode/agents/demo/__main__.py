"""`python -m betcode.agents.demo`."""

import sys

from betcode.agents.demo.agent import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
