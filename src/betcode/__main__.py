"""`python -m betcode` is the command `betcode`."""

from betcode.cli.main import main

if __name__ == "__main__":
    main()
