"""The README of an exported folder, and the numbers of things and items."""

from __future__ import annotations

from cogrid._apps.export.source import plain
from cogrid._core.compile.spec import Spec

_TEXT = """# {id} in C

Made by cogrid {version} from the rules of the environment. It is the same step that cogrid runs on NumPy and
JAX, for one environment, in C99, and it needs nothing but `memcpy` and `memset`.

| file | what is in it |
|---|---|
| `{name}.h` | the functions, and the layout of the state |
| `{name}.c` | the rules |
| `main.c` | plays a tape |
| `tape.txt` | an episode and the beginning of another, with the checksums that NumPy gave |
| `things.txt` | what the numbers of things and items mean |
| `NOTICE.md` | whose boards these are; the licences are beside it |

Compile and test it:

```sh
cc -std=c99 -O2 -ffp-contract=off -o play {name}.c main.c
./play tape.txt
```

It prints the steps, the returns and a checksum, or the first line at which something differs. With
`-ffp-contract=off`, rewards equal NumPy's in every bit, also where the processor could multiply and add in
one operation. The checksums are those of little-endian machines.

In a program of your own:

```c
#include "{name}.h"

{name}_state state;
{name}_result result;
const uint32_t key[2] = {{0, 7}};

{name}_reset(key, &state, &result);
while (!result.done) {{
    int32_t actions[{upper}_AGENTS] = {{0}}; /* from result.obs */
    {name}_step(actions, &state, &result);
}}
{name}_reset(state.words, &state, &result); /* the next episode */
```

A seed of cogrid is the key `{{high 32 bits, low 32 bits}}`. A state may be copied by assignment, which is all
that tree search needs; the functions keep nothing and may be called from several threads. Give them only
states that they made: numbers that cannot occur are not checked.
"""


def readme(id: str, version: str, name: str) -> str:
    """The text of README.md."""
    return _TEXT.format(id=plain(id), version=version, name=name, upper=name.upper())


def things(spec: Spec) -> str:
    """A line for the number of each thing and each item."""
    symbols = spec.symbols
    lines = [f"thing {number} {thing!r}" for number, thing in enumerate(symbols.things)]
    lines += [f"item {number} {item!r}" for number, item in enumerate(symbols.items)]
    return "\n".join(lines) + "\n"
