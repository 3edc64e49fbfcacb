/* Opens a library whose code launches kernels, calls it and closes it: plugin LIBRARY */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **words)
{
    void *library = dlopen(words[count - 1], RTLD_NOW);
    void (*work)(void) = library ? (void (*)(void))dlsym(library, "work") : 0;
    if (!work) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    work();
    dlclose(library);
    return 0;
}
