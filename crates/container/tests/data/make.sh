#!/bin/sh
# Makes the containers in this folder. Needs nvcc 13.4 (with ptxas, fatbinary and nvlink) in PATH.
set -e
folder=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cp "$folder"/*.cu "$work"
cd "$work"

both='arch=compute_90,code=[sm_90,compute_90]'
for mode in default size speed balance none; do
    nvcc -fatbin -gencode "$both" -compress-mode=$mode -o $mode.fatbin saxpy.cu
done
nvcc -fatbin -gencode "$both" -lineinfo -o lineinfo.fatbin saxpy.cu
nvcc -fatbin -gencode "$both" -G -o debug.fatbin saxpy.cu
nvcc -fatbin -gencode "$both" -fmad=false -Xptxas -O1 -maxrregcount=32 -o options.fatbin saxpy.cu
nvcc -fatbin -gencode 'arch=compute_80,code=[sm_80,compute_80]' -gencode 'arch=compute_90a,code=[sm_90a,compute_90a]' \
    -gencode 'arch=compute_100f,code=[sm_100f,compute_100f]' -compress-mode=size -o suffixes.fatbin saxpy.cu
nvcc -fatbin -gencode arch=compute_90,code=sm_90 -compress-mode=size -o machine.fatbin saxpy.cu
nvcc -fatbin -gencode arch=compute_90,code=sm_90 -lineinfo -compress-mode=size -o machine_lineinfo.fatbin saxpy.cu
nvcc -fatbin -gencode arch=compute_100,code=compute_100 -o newer.fatbin saxpy.cu
nvcc -fatbin -dc -gencode arch=compute_90,code=lto_90 -o lto.fatbin saxpy.cu

nvcc -cubin -arch=sm_90 -o plain.cubin saxpy.cu
nvcc -cubin -arch=sm_90 -lineinfo -o lineinfo.cubin saxpy.cu
nvcc -cubin -arch=sm_90 -lineinfo -fmad=false -o lineinfo_no_fmad.cubin saxpy.cu
nvcc -cubin -arch=sm_90 -G -o debug.cubin saxpy.cu
nvcc -cubin -arch=sm_90a -lineinfo -o sm_90a.cubin saxpy.cu
nvcc -cubin -arch=sm_80 -lineinfo -o sm_80.cubin saxpy.cu
nvcc -cubin -arch=sm_100a -lineinfo -o sm_100a.cubin saxpy.cu
nvcc -cubin -arch=sm_90 -dc -lineinfo -o relocatable.cubin variables.cu

nvcc -cubin -arch=sm_90 -dc -lineinfo -o first.o first.cu
nvcc -cubin -arch=sm_90 -dc -lineinfo -fmad=false -o second.o second.cu
nvcc -cubin -arch=sm_90 -dc -o second_plain.o second.cu
nvlink -arch=sm_90 first.o second.o -o linked.cubin
nvlink -arch=sm_90 second.o first.o -o linked_reverse.cubin
nvlink -arch=sm_90 first.o second_plain.o -o linked_half.cubin

# Programs of the host: an object file with PTX for two architectures, a program of two files, one of files that are
# linked with each other, with and without line information, and one without PTX. They are stripped to be small.
# LIBRARIES names a folder with libcudart.so.
host="-compress-mode=size -cudart shared -L${LIBRARIES:-.}"
nvcc -c -gencode "$both" -gencode arch=compute_80,code=compute_80 -compress-mode=size -o two_archs.o hello.cu
strip -d two_archs.o
nvcc $host -gencode "$both" -o two_files.elf hello.cu other.cu
nvcc $host -rdc=true -gencode "$both" -o linked_files.elf first.cu second.cu hello.cu
nvcc $host -rdc=true -lineinfo -gencode arch=compute_90,code=sm_90 -o linked_lineinfo.elf first.cu second.cu hello.cu
nvcc $host -shared -Xcompiler -fPIC -gencode arch=compute_90,code=sm_90 -o machine.so other.cu
strip ./*.elf machine.so

cp ./*.fatbin ./*.cubin ./*.elf machine.so two_archs.o "$folder"
rm -r "$work"
