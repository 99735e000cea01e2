"""`python -m sparsegate` is the command `sparsegate`, also where no script of that name is on the path."""

try:
    from sparsegate.cli import main
except KeyboardInterrupt:  # the first moment, before anything hears it
    raise SystemExit(130) from None

if __name__ == "__main__":
    main()
