# SPDX-License-Identifier: MIT
# The engine above the seam: plan, buffers, lists, hazards.
hg_engine_part(hg_core engine.c matrix.c plan.c limits.c select.c memory.c upload.c oplist.c hazard.c prepare.c rounds.c run.c tap.c trial.c trial_run.c
                       selftest.c operation.c trust.c trust_file.c kept.c tune.c used.c watch.c ceiling.c)
target_link_libraries(hg_core PRIVATE Threads::Threads)
# Every weight passes through it; at -O2 gcc makes no vectors of its loops.
set_source_files_properties(upload.c PROPERTIES COMPILE_OPTIONS "-O3")
