# SPDX-License-Identifier: MIT
# The third backend: plain C on the host's threads; columns `ref` and `text` of the kernel table.
hg_engine_part(hg_reference reference/ref_device.c reference/pool.c)
target_link_libraries(hg_reference PRIVATE Threads::Threads)
