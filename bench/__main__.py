"""Assembles the parser of python -m bench from the modules of bench/commands, runs a command and exits."""

from __future__ import annotations

import os
import sys


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code. A user's mistake prints one sentence on stderr."""
    try:
        # Imported here, so that Ctrl-C is handled from the start.
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
    except BrokenPipeError:  # the reader of our output, such as head, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Code.CLOSED
    except OSError as error:  # an unwritable folder, a full disk
        from cogrid._io.files import sentence  # here, because --help does not need cogrid

        print(f"bench: {sentence(error)}", file=sys.stderr)
        return Code.USAGE
    except KeyboardInterrupt as interrupt:  # its text says how to resume
        print(f"bench: interrupted{interrupt}.", file=sys.stderr)
        return Code.INTERRUPTED


def missing(error: ModuleNotFoundError) -> int:
    """Print one sentence about a missing dependency of bench; returns 2, as for any usage error."""
    if (error.name or "").partition(".")[0] in ("bench", "cogrid", "examples"):
        raise error
    way = "python -m pip install -e '.[jax]' --group bench"
    all_of_it = "installs everything that bench needs (pip 25.1 or newer)"
    print(f"bench: {error.name} is not installed: {way} {all_of_it}.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
