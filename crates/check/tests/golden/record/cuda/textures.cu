// Texture and surface objects.
extern "C" __global__ void textures(float4 *d, cudaTextureObject_t t, cudaTextureObject_t s, float x, float y, float z) {
    int i = threadIdx.x;
    float4 r = tex1D<float4>(t, x);
    float4 q = tex2D<float4>(t, x, y);
    r.x += q.x + tex3D<float>(t, x, y, z);
    r.y += tex1Dfetch<int>(s, i) + tex2DLod<float>(t, x, y, 1.0f);
    r.z += tex2DLayered<float2>(t, x, y, i).y + texCubemap<float>(t, x, y, z);
    float2 dx = make_float2(1, 0), dy = make_float2(0, 1);
    r.w += tex2DGrad<float>(t, x, y, dx, dy) + tex1DLayered<unsigned char>(s, x, 2);
    q = tex2Dgather<float4>(t, x, y, 2);
    bool resident;
    r.x += tex2D<float>(t, x, y, &resident);
    d[i] = make_float4(r.x + q.w, r.y, r.z, resident ? r.w : 0);
}

extern "C" __global__ void surfaces(int4 *d, cudaSurfaceObject_t s, int x, int y, int z) {
    int4 a = surf2Dread<int4>(s, 16 * x, y);
    a.x += surf1Dread<int>(s, 4 * x, cudaBoundaryModeClamp);
    a.y += surf3Dread<short>(s, 2 * x, y, z, cudaBoundaryModeZero);
    surf2Dwrite(a, s, 16 * x, y + 1);
    surf1Dwrite((unsigned char)a.x, s, x);
    surf2DLayeredwrite(make_float2(1, 2), s, 8 * x, y, z);
    surf3Dwrite(make_short4(1, 2, 3, 4), s, 8 * x, y, z, cudaBoundaryModeClamp);
    d[threadIdx.x] = a;
}
