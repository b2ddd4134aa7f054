// SPDX-License-Identifier: MIT
// y[i] = x[i] * scale + bias, times FACTOR; one invocation per element, groups folded over x, y, z.
#version 450
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint FACTOR = 1;
layout(constant_id = 1) const uint UNUSED = 1;
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Params { uint count; float scale; float bias; };

void main()
{
    uint group = (gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint i = group * 64u + gl_LocalInvocationID.x;

    if (i < count)
        y[i] = (x[i] * scale + bias) * float(FACTOR);
}
