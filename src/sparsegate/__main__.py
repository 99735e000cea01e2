"""`python -m sparsegate` is the command `sparsegate`, also where no script of that name is on the path."""

from sparsegate.cli import main

if __name__ == "__main__":
    main()
