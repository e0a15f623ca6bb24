/* The limit: CrampedRoom in plain C, the exact game, as a bound for what any implementation can reach.
 *
 *   cc -O3 -march=native -pthread -o limit limit.c
 *   limit TAPE STEPS BATCH step|observe [THREADS]
 *
 * TAPE holds STEPS x BATCH x 2 actions of one byte. With `observe` the 26 planes of both agents are written
 * out at every step. Every line on stdin is answered by a line of JSON: the first by how the tape ended, each
 * later one by a sample, in steps per second; each thread plays a part of the batch.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 5, CELLS = 20, AGENTS = 2, PLANES = 26, SEEN = CELLS * PLANES };
enum { UP, DOWN, LEFT, RIGHT, INTERACT }; /* what is above does nothing: toggle and noop */
enum { EMPTY, ONION, DISH, SOUP };        /* in a hand or on a counter */
enum { CAPACITY = 3, COOK_TIME = 20, DELIVERY = 20, MAX_STEPS = 100000, URGENT = 40 };
enum { COUNTER_PLANE = 11, MAX_THREADS = 64 };
static const double SAMPLE_SECONDS = 0.05;
static const char LAYOUT[] = "XXPXX" "O   O" "X   X" "XDXSX";
static const uint8_t STARTS[AGENTS] = {11, 8};
static const int8_t STRIDE[] = {-WIDTH, WIDTH, -1, 1}; /* by action; a facing is the action that led to it */

typedef struct {
    uint8_t pos[AGENTS], facing[AGENTS], held[AGENTS];
    uint8_t lying[CELLS];
    uint8_t onions, left; /* in the pot, and the time until the soup is ready */
    int32_t time;
    float reward; /* the sum of all */
} Kitchen;

static uint8_t fixed_planes[SEEN], pot_cell;

static Kitchen begin(void) {
    Kitchen k = {.facing = {UP, UP}};
    memcpy(k.pos, STARTS, AGENTS);
    return k;
}

static float interact(Kitchen *k, int agent) {
    uint8_t *hand = &k->held[agent];
    int cell = k->pos[agent] + STRIDE[k->facing[agent]];
    switch (LAYOUT[cell]) {
    case 'X': /* put down or take, never swap */
        if (*hand == EMPTY || k->lying[cell] == EMPTY) {
            uint8_t item = *hand;
            *hand = k->lying[cell];
            k->lying[cell] = item;
        }
        return 0;
    case 'O':
        if (*hand == EMPTY) *hand = ONION;
        return 0;
    case 'D':
        if (*hand == EMPTY) *hand = DISH;
        return 0;
    case 'P':
        if (*hand == ONION && k->onions < CAPACITY) {
            *hand = EMPTY;
            if (++k->onions == CAPACITY) k->left = COOK_TIME;
        } else if (*hand == DISH && k->onions == CAPACITY && k->left == 0) {
            *hand = SOUP;
            k->onions = 0;
        }
        return 0;
    case 'S':
        if (*hand != SOUP) return 0;
        *hand = EMPTY;
        return DELIVERY;
    default:
        return 0;
    }
}

static void move(Kitchen *k, const int8_t *actions) {
    int wanted[AGENTS];
    for (int i = 0; i < AGENTS; i++) {
        wanted[i] = k->pos[i];
        if (actions[i] <= RIGHT) {
            int cell = k->pos[i] + STRIDE[actions[i]];
            k->facing[i] = actions[i];
            if (LAYOUT[cell] == ' ') wanted[i] = cell;
        }
    }
    int contest = wanted[0] == wanted[1];
    int swap = wanted[0] == k->pos[1] && wanted[1] == k->pos[0];
    if (contest || swap) return;
    k->pos[0] = wanted[0];
    k->pos[1] = wanted[1];
}

static void step(Kitchen *k, const int8_t *actions) {
    for (int i = 0; i < AGENTS; i++)
        if (actions[i] == INTERACT) k->reward += interact(k, i);
    move(k, actions);
    if (k->left) k->left--;
    k->time++;
}

/* The planes of an item that lies or is held. */
static void see_item(uint8_t *cell, uint8_t item) {
    if (item == SOUP) {
        cell[18] = CAPACITY;
        cell[21] = 1;
    } else if (item) {
        cell[item == DISH ? 22 : 23] = 1;
    }
}

static void observe(const Kitchen *k, uint8_t *planes) {
    static const uint8_t COMPASS[] = {0, 1, 3, 2}; /* north, south, east, west; by facing */
    for (int own = 0; own < AGENTS; own++, planes += SEEN) {
        memcpy(planes, fixed_planes, SEEN);
        for (int i = 0; i < AGENTS; i++) {
            uint8_t *cell = planes + k->pos[i] * PLANES;
            int other = i != own;
            cell[other] = 1;
            cell[2 + 4 * other + COMPASS[k->facing[i]]] = 1;
            see_item(cell, k->held[i]);
        }
        for (int c = 0; c < CELLS; c++)
            if (k->lying[c]) see_item(planes + c * PLANES, k->lying[c]);
        uint8_t *pot = planes + pot_cell * PLANES;
        pot[k->onions < CAPACITY ? 16 : 18] = k->onions;
        pot[20] = k->left;
        pot[21] = k->onions == CAPACITY && k->left == 0;
        if (MAX_STEPS - k->time < URGENT)
            for (int c = 0; c < CELLS; c++) planes[c * PLANES + 25] = 1;
    }
}

typedef struct {
    Kitchen *kitchens;
    uint8_t *planes; /* or NULL */
    const int8_t *tape;
    int steps, batch, first, end; /* the kitchens that a thread plays */
} Part;

static void *play_part(void *given) {
    const Part p = *(Part *)given;
    for (int b = p.first; b < p.end; b++) p.kitchens[b] = begin();
    for (int t = 0; t < p.steps; t++) {
        const int8_t *actions = p.tape + ((size_t)t * p.batch + p.first) * AGENTS;
        for (int b = p.first; b < p.end; b++, actions += AGENTS) {
            step(&p.kitchens[b], actions);
            if (p.planes) observe(&p.kitchens[b], p.planes + (size_t)b * AGENTS * SEEN);
        }
    }
    return NULL;
}

static void play(Kitchen *kitchens, uint8_t *planes, const int8_t *tape, int steps, int batch, int threads) {
    pthread_t others[MAX_THREADS];
    Part parts[MAX_THREADS];
    for (int i = 0; i < threads; i++) {
        int first = (long)batch * i / threads, end = (long)batch * (i + 1) / threads;
        parts[i] = (Part){kitchens, planes, tape, steps, batch, first, end};
        if (i && pthread_create(&others[i], NULL, play_part, &parts[i])) {
            fprintf(stderr, "there is no thread number %d\n", i);
            exit(1);
        }
    }
    play_part(&parts[0]);
    for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
}

/* Asked for after every sample, so that no compiler can leave the work out. */
static double total_reward(const Kitchen *kitchens, int batch) {
    double total = 0;
    for (int b = 0; b < batch; b++) total += kitchens[b].reward;
    return total;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Every byte by its place; the counters' plane is left out, in which the libraries differ. */
static uint64_t weighed(const uint8_t *planes) {
    uint64_t sum = 0;
    for (int i = 0; i < AGENTS * SEEN; i++)
        if (i % PLANES != COUNTER_PLANE) sum += (uint64_t)planes[i] * (i + 1);
    return sum;
}

static void answer_end(const Kitchen *kitchens, const uint8_t *planes, int batch) {
    static const uint8_t FACING[] = {3, 1, 2, 0}; /* cogrid's number of each: right, down, left, up */
    printf("{\"library\": \"C\", \"unit\": \"steps/s\", \"end\": {\"positions\": [");
    for (int b = 0; b < batch; b++)
        printf("%s[%d, %d]", b ? ", " : "", kitchens[b].pos[0], kitchens[b].pos[1]);
    printf("], \"facings\": [");
    for (int b = 0; b < batch; b++)
        printf("%s[%d, %d]", b ? ", " : "", FACING[kitchens[b].facing[0]], FACING[kitchens[b].facing[1]]);
    printf("], \"rewards\": [");
    for (int b = 0; b < batch; b++) printf("%s%.1f", b ? ", " : "", kitchens[b].reward);
    if (planes) {
        printf("], \"planes\": [");
        for (int b = 0; b < batch; b++)
            printf("%s%llu", b ? ", " : "", (unsigned long long)weighed(planes + (size_t)b * AGENTS * SEEN));
    }
    printf("]}}\n");
}

static void answer_sample(Kitchen *kitchens, uint8_t *planes, const int8_t *tape, int steps, int batch,
                          int threads) {
    double start = now(), passed = 0;
    long passes = 0;
    for (; passed < SAMPLE_SECONDS; passes++, passed = now() - start)
        play(kitchens, planes, tape, steps, batch, threads);
    printf("{\"value\": %.1f, \"rewards\": %.0f}\n", (double)passes * steps * batch / passed,
           total_reward(kitchens, batch));
}

static void *allocate(size_t size) {
    void *memory = malloc(size);
    if (!memory) {
        fprintf(stderr, "there is no memory for %zu bytes\n", size);
        exit(1);
    }
    return memory;
}

static int8_t *read_tape(const char *path, size_t size) {
    int8_t *tape = allocate(size);
    FILE *file = fopen(path, "rb");
    if (!file || fread(tape, 1, size, file) != size) {
        fprintf(stderr, "%s holds no tape of %zu actions\n", path, size);
        exit(1);
    }
    fclose(file);
    return tape;
}

static void draw_fixed_planes(void) {
    static const char KINDS[] = "PXO?DS"; /* the planes from 10 on; the fourth is of tomatoes */
    for (int c = 0; c < CELLS; c++) {
        const char *kind = strchr(KINDS, LAYOUT[c]);
        if (kind) fixed_planes[c * PLANES + 10 + (kind - KINDS)] = 1;
        if (LAYOUT[c] == 'P') pot_cell = c;
    }
}

int main(int count, char **words) {
    int given = count == 5 || count == 6, threads = count == 6 ? atoi(words[5]) : 1;
    int steps = given ? atoi(words[2]) : 0, batch = given ? atoi(words[3]) : 0;
    if (steps < 1 || batch < 1 || threads < 1 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: limit TAPE STEPS BATCH step|observe [THREADS]\n");
        return 2;
    }
    int8_t *tape = read_tape(words[1], (size_t)steps * batch * AGENTS);
    Kitchen *kitchens = allocate(batch * sizeof *kitchens);
    uint8_t *planes = strcmp(words[4], "observe") ? NULL : allocate((size_t)batch * AGENTS * SEEN);
    draw_fixed_planes();
    for (int c, answers = 0; (c = getchar()) != EOF;) {
        if (c != '\n') continue;
        if (answers++) {
            answer_sample(kitchens, planes, tape, steps, batch, threads);
        } else {
            play(kitchens, planes, tape, steps, batch, threads);
            answer_end(kitchens, planes, batch);
        }
        fflush(stdout);
    }
    return 0;
}
