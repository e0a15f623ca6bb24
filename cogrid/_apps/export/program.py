"""`main.c`: a program that plays a tape and compares what happens with the tape's checksums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cogrid._apps.export.recorded import ExportedWorld, Field
from cogrid._apps.export.source import size

_TEXT = """/* Plays a tape: main FILE. Its lines are

       reset WORD WORD CHECKSUM       a new episode of this key
       step ACTION ... CHECKSUM       a step, with an action for each agent

   A checksum is the CRC-32, in hexadecimal, of all bytes of state and result so far; 0 is not compared. */
#include "{name}.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t checksum;

static void add(const void *data, size_t bytes)
{{
    const uint8_t *byte = data;
    for (checksum = ~checksum; bytes > 0; bytes--) {{
        checksum ^= *byte++;
        for (int bit = 0; bit < 8; bit++)
            checksum = checksum & 1 ? checksum >> 1 ^ 0xedb88320u : checksum >> 1;
    }}
    checksum = ~checksum;
}}

static void add_all(const {name}_state *state, const {name}_result *result)
{{
{adds}
}}

static int play(FILE *tape)
{{
    static {name}_state state;
    static {name}_result result;
    double returns[{upper}_AGENTS] = {{0}};
    char word[8];
    long line = 0, steps = 0;
    int began = 0;
    while (fscanf(tape, "%7s", word) == 1) {{
        uint32_t expected = 0;
        int ok = 1;
        line++;
        if (strcmp(word, "reset") == 0) {{
            uint32_t key[2] = {{0, 0}};
            for (int k = 0; k < 2; k++)
                ok &= fscanf(tape, "%" SCNu32, &key[k]) == 1;
            {name}_reset(key, &state, &result);
            began = 1;
        }} else {{
            int32_t actions[{upper}_AGENTS] = {{0}};
            ok = began && strcmp(word, "step") == 0;
            for (int agent = 0; agent < {upper}_AGENTS; agent++)
                ok &= fscanf(tape, "%" SCNd32, &actions[agent]) == 1;
            if (ok)
                {name}_step(actions, &state, &result);
            steps++;
        }}
        if (!ok || fscanf(tape, "%" SCNx32, &expected) != 1) {{
            fprintf(stderr, "line %ld: this is not a line of a tape\\n", line);
            return 2;
        }}
        add_all(&state, &result);
        if (expected != 0 && expected != checksum) {{
            fprintf(stderr, "line %ld: checksum %08" PRIx32, line, checksum);
            fprintf(stderr, ", not %08" PRIx32 "\\n", expected);
            return 1;
        }}
        for (int agent = 0; agent < {upper}_AGENTS; agent++)
            returns[agent] += result.rewards[agent];
    }}
    printf("%ld steps, returns", steps);
    for (int agent = 0; agent < {upper}_AGENTS; agent++)
        printf(" %g", returns[agent]);
    printf(", checksum %08" PRIx32 "\\n", checksum);
    return 0;
}}

int main(int count, char **words)
{{
    FILE *tape = count == 2 ? fopen(words[1], "r") : NULL;
    if (tape == NULL) {{
        fprintf(stderr, "usage: %s FILE, which is a tape that can be read, such as tape.txt\\n", words[0]);
        return 2;
    }}
    int code = play(tape);
    fclose(tape);
    return code;
}}
"""


def program(name: str, world: ExportedWorld) -> str:
    """The text of main.c."""
    adds = [*_adds("state", world.state), *_adds("result", world.result)]
    return _TEXT.format(name=name, upper=name.upper(), adds="\n".join(adds))


def _adds(record: str, fields: Sequence[Field]) -> Iterator[str]:
    """A line for each field, so that nothing hangs on how a compiler pads a struct."""
    for field in filter(size, fields):
        address = f"{record}->{field.name}" if field.shape else f"&{record}->{field.name}"
        yield f"    add({address}, sizeof {record}->{field.name});"
