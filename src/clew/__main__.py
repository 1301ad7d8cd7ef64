"""`python -m clew`: the command line, for where the `clew` script is not on the path."""

from clew.cli import main

if __name__ == "__main__":
    main()
