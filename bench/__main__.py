"""Assembles the parser of python -m bench from the modules of bench/commands, and ends with an exit code."""

from __future__ import annotations

import os
import sys


def main(arguments: list[str] | None = None) -> int:
    """Run a command; its exit code. Whatever a person did wrong is one sentence on stderr."""
    try:
        # Imported in here, so that Ctrl-C is handled from the first moment on.
        from bench.commands.parser import parse
        from bench.exit_codes import Code, NoDevice, UsageError
    except KeyboardInterrupt:
        print("bench: interrupted.", file=sys.stderr)
        return 130
    except ModuleNotFoundError as error:
        return missing(error)
    try:
        command, options = parse(arguments)
        code = int(command.run(options) or Code.FINE)
        sys.stdout.flush()
        return code
    except ModuleNotFoundError as error:
        return missing(error)
    except UsageError as error:
        print(f"bench: {error}", file=sys.stderr)
        return Code.NO_DEVICE if isinstance(error, NoDevice) else Code.USAGE
    except BrokenPipeError:  # whoever read our output, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Code.CLOSED
    except OSError as error:  # an unwritable folder, a full disk
        from cogrid.files import in_words  # here, because --help needs nothing of cogrid

        print(f"bench: {in_words(error)}", file=sys.stderr)
        return Code.USAGE
    except KeyboardInterrupt as interrupt:  # its text says how to go on
        print(f"bench: interrupted{interrupt}.", file=sys.stderr)
        return Code.INTERRUPTED


def missing(error: ModuleNotFoundError) -> int:
    """One sentence about a library of bench's own that is not installed; 2, as for any usage."""
    if (error.name or "").partition(".")[0] in ("bench", "cogrid", "examples"):
        raise error
    way = "python -m pip install -e '.[jax]' --group bench"
    print(f"bench: {error.name} is not installed: {way} installs all that bench needs.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
