/* Programs: with code of their own, with a library that they need, and opening the libraries that they are given:
   those with a + are kept open, those with an @ are opened and closed by eight threads. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int own(int quiet), needed(int quiet), unknown(void);

static void *library(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) { fprintf(stderr, "%s\n", dlerror()); exit(3); }
    return handle;
}

static int call(void *handle, const char *name, int quiet) {
    int (*function)(int) = (int (*)(int))dlsym(handle, name);
    return function ? function(quiet) : 4;
}

static void *many(void *path) {
    long wrong = 0;
    for (int i = 0; i < 200; i++) {
        void *handle = library(path);
        wrong += call(handle, "opened", 1);
        dlclose(handle);
    }
    return (void *)wrong;
}

int main(int count, char **words) {
    int wrong = 0;
#ifdef OWN
    wrong |= own(0);
#endif
#ifdef NEEDED
    wrong |= needed(0);
#endif
    for (int i = 1; i < count; i++) {
#ifdef OWN
        if (!strcmp(words[i], "newer")) { printf("newer %d %d\n", unknown(), unknown()); return 0; }
#endif
        if (words[i][0] == '+') {
            library(words[i] + 1);
        } else if (words[i][0] == '@') {
            pthread_t threads[8];
            void *result;
            for (int t = 0; t < 8; t++) pthread_create(&threads[t], 0, many, words[i] + 1);
            for (int t = 0; t < 8; t++) { pthread_join(threads[t], &result); wrong |= result != 0; }
        } else {
            void *handle = library(words[i]);
            wrong |= call(handle, "opened", 0);
            if (dlclose(handle)) wrong |= 8;
        }
    }
    printf("%s\n", wrong ? "wrong" : "all right");
    return wrong;
}
