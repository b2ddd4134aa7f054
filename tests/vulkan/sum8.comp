// SPDX-License-Identifier: MIT
// The most that a kernel may have: eight bindings and 32 words of params. y[i] = a[i] + .. + g[i] + word[31].
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(std430, set = 0, binding = 1) readonly buffer B { uint b[]; };
layout(std430, set = 0, binding = 2) readonly buffer C { uint c[]; };
layout(std430, set = 0, binding = 3) readonly buffer D { uint d[]; };
layout(std430, set = 0, binding = 4) readonly buffer E { uint e[]; };
layout(std430, set = 0, binding = 5) readonly buffer F { uint f[]; };
layout(std430, set = 0, binding = 6) readonly buffer G { uint g[]; };
layout(std430, set = 0, binding = 7) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Params { uint word[32]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;

    if (i < word[0])
        y[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i] + word[31];
}
