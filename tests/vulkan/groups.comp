// SPDX-License-Identifier: MIT
// No params, one binding, one invocation per group: adds 1 to the element of its flat group index.
#version 450
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) buffer Y { uint y[]; };

void main()
{
    uint group = (gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x;

    y[group] += 1u;
}
