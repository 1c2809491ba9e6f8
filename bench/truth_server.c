/* A server that knows when it really wrote, in C, for rates that the one in Python does not reach.

   truth_server [--keep-alive] CHUNKS FIRST_NS GAP_NS

   It answers as anvil.collectors.load.truth does, and prints the same port and notes. Streams wait in two
   queues, for their first token and for another: as every wait of a queue is equally long, each queue is
   in the order of its moments.

   For clients of other people it does three things more. With --keep-alive a connection is used again, as
   they like to, where it is otherwise closed. A GET, by which they look for a server and its models, is
   answered and not noted. And where a body has no seed, its number is taken from the prompt: "(seed 17)". */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEAD "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
#define BEGIN "data: {\"id\":\"chatcmpl-truth\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"truth\","
#define TOKEN BEGIN "\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token\"},\"finish_reason\":null}]}\n\n"
#define STOP BEGIN "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define USAGE BEGIN "\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":%ld,\"total_tokens\":%ld}}\n\n"
#define DONE "data: [DONE]\n\n"
#define MODELS "{\"object\":\"list\",\"data\":[{\"id\":\"truth\",\"object\":\"model\"}]}"
#define PLAIN "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n%s"
#define STREAMS 65536

struct stream {
    int fd, writes, asked;
    long seed;
    int64_t received, due, *before, *after;
    char text[4096];
};

struct queue {
    struct stream *at[STREAMS];
    unsigned head, tail;
};

static struct queue first, next;
static struct stream *ended[STREAMS * 8];
static long ended_count, chunks;
static int64_t first_ns, gap_ns, offset;
static char token[512], tail[2048];
static int token_size, tail_size, keeps_alive, epoll;

static int64_t clock_ns(clockid_t which) {
    struct timespec t;
    clock_gettime(which, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* What the realtime clock is ahead by, from the narrowest of some brackets. */
static int64_t measured_offset(void) {
    int64_t best = INT64_MAX, found = 0;
    for (int i = 0; i < 100; i++) {
        int64_t a = clock_ns(CLOCK_MONOTONIC), b = clock_ns(CLOCK_REALTIME), c = clock_ns(CLOCK_MONOTONIC);
        if (c - a < best) best = c - a, found = b - a - (c - a) / 2;
    }
    return found;
}

static int framed(char *into, const char *data) {
    return sprintf(into, "%zx\r\n%s\r\n", strlen(data), data);
}

static void push(struct queue *q, struct stream *s, int64_t due) {
    s->due = due;
    q->at[q->tail++ % STREAMS] = s;
}

static struct stream *due_in(struct queue *q, int64_t now) {
    return q->head != q->tail && q->at[q->head % STREAMS]->due <= now ? q->at[q->head++ % STREAMS] : NULL;
}

static int64_t earliest(void) {
    int64_t a = first.head == first.tail ? INT64_MAX : first.at[first.head % STREAMS]->due;
    int64_t b = next.head == next.tail ? INT64_MAX : next.at[next.head % STREAMS]->due;
    return a < b ? a : b;
}

static void wait_for_request(int fd) {
    struct stream *s = calloc(1, sizeof *s);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = s};
    s->fd = fd;
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void write_next(struct stream *s) {
    if (s->writes < chunks) {
        s->before[s->writes] = clock_ns(CLOCK_MONOTONIC);
        ssize_t sent = send(s->fd, token, token_size, MSG_NOSIGNAL);
        s->after[s->writes++] = clock_ns(CLOCK_MONOTONIC);
        if (sent == token_size) {
            push(&next, s, s->due + gap_ns);
            return;
        }
    } else if (send(s->fd, tail, tail_size, MSG_NOSIGNAL) < 0) {
        /* the client is gone; it will say so itself */
    } else if (keeps_alive) {
        wait_for_request(s->fd);
        ended[ended_count++] = s;
        return;
    }
    close(s->fd);
    ended[ended_count++] = s;
}

static void tell_models(struct stream *s) {
    char answer[512];
    int size = snprintf(answer, sizeof answer, PLAIN, strlen(MODELS), MODELS);
    s->asked = 0;
    if (send(s->fd, answer, size, MSG_NOSIGNAL) < 0 || !keeps_alive) {
        close(s->fd);
        free(s);
    }
}

static void receive(struct stream *s) {
    char control[128];
    struct iovec part = {s->text + s->asked, sizeof s->text - 1 - s->asked};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t size = recvmsg(s->fd, &message, 0);
    if (size <= 0) {
        close(s->fd);
        free(s);
        return;
    }
    s->asked += size;
    s->text[s->asked] = 0;
    char *body = strstr(s->text, "\r\n\r\n"), *length = strcasestr(s->text, "content-length:");
    if (body && !strncmp(s->text, "GET ", 4)) {
        tell_models(s);
        return;
    }
    if (!body || !length || strlen(body + 4) < strtoul(length + 15, NULL, 10)) return;
    char *seed = strstr(body, "\"seed\":"), *said = strstr(body, "(seed ");
    int64_t now = clock_ns(CLOCK_MONOTONIC);
    s->received = now;
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
        struct timespec t;
        memcpy(&t, CMSG_DATA(c), sizeof t);
        s->received = t.tv_sec * 1000000000LL + t.tv_nsec - offset;
    }
    s->seed = seed ? strtol(seed + 7, NULL, 10) : said ? strtol(said + 6, NULL, 10) : 0;
    s->before = calloc(chunks, sizeof *s->before);
    s->after = calloc(chunks, sizeof *s->after);
    epoll_ctl(epoll, EPOLL_CTL_DEL, s->fd, NULL);
    if (send(s->fd, HEAD, sizeof HEAD - 1, MSG_NOSIGNAL) < 0) { /* as above */ }
    push(&first, s, now + first_ns);
}

static void accept_one(int listener) {
    int one = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (fd < 0) return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one);
    wait_for_request(fd);
}

static void print_notes(void) {
    for (long i = 0; i < ended_count; i++) {
        struct stream *s = ended[i];
        printf("{\"seed\": %ld, \"received_ns\": %lld, \"writes_ns\": [", s->seed, (long long)s->received);
        for (int k = 0; k < s->writes; k++) printf("%s%lld", k ? ", " : "", (long long)s->before[k]);
        printf("], \"written_ns\": [");
        for (int k = 0; k < s->writes; k++) printf("%s%lld", k ? ", " : "", (long long)s->after[k]);
        printf("]}\n");
    }
}

int main(int argc, char **argv) {
    keeps_alive = argc > 1 && !strcmp(argv[1], "--keep-alive");
    argc -= keeps_alive, argv += keeps_alive;
    if (argc != 4) return 2;
    chunks = atol(argv[1]), first_ns = atoll(argv[2]), gap_ns = atoll(argv[3]);
    offset = measured_offset();
    char usage[512];
    snprintf(usage, sizeof usage, USAGE, chunks, chunks + 1);
    token_size = framed(token, TOKEN);
    tail_size = framed(tail, STOP);
    tail_size += framed(tail + tail_size, usage);
    tail_size += framed(tail + tail_size, DONE);
    tail_size += sprintf(tail + tail_size, "0\r\n\r\n");

    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    epoll = epoll_create1(0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    setsockopt(listener, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one);
    if (bind(listener, (void *)&address, size) || listen(listener, 1024)) return 1;
    getsockname(listener, (void *)&address, &size);
    struct epoll_event listening = {.events = EPOLLIN, .data.ptr = &first}, told = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &listening);
    epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &told);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);

    for (int64_t looked = 0;;) {
        int64_t now = clock_ns(CLOCK_MONOTONIC);
        struct stream *s;
        while (now - looked < 200000 && ((s = due_in(&next, now)) || (s = due_in(&first, now)))) {
            write_next(s);
            now = clock_ns(CLOCK_MONOTONIC);
        }
        int64_t left = earliest() == INT64_MAX ? 1000000000LL : earliest() - now;
        if (left > 200000 || now - looked >= 200000) {
            struct epoll_event events[64];
            int count = epoll_wait(epoll, events, 64, left > 2000000 ? (int)(left / 1000000 - 1) : 0);
            for (int i = 0; i < count; i++) {
                if (events[i].data.ptr == NULL) {
                    print_notes();
                    return 0;
                }
                if (events[i].data.ptr == &first) accept_one(listener);
                else receive(events[i].data.ptr);
            }
            looked = clock_ns(CLOCK_MONOTONIC);
            left = (earliest() == INT64_MAX ? 0 : earliest() - looked);
        }
        if (left > 150000) {
            struct timespec t = {0, left - 75000 > 1000000 ? 1000000 : left - 75000};
            nanosleep(&t, NULL);
        }
    }
}
