/* SPDX-License-Identifier: MIT */
/*
 * headgate: gated-attention language models on any GPU with Vulkan or OpenCL, with their attention
 * read back. The umbrella. tests/consumer/share.c in the sources is the shortest complete
 * program.
 */
#ifndef HEADGATE_HEADGATE_H
#define HEADGATE_HEADGATE_H

#include <headgate/base.h>
#include <headgate/batch.h>
#include <headgate/capture.h>
#include <headgate/diagnose.h>
#include <headgate/engine.h>
#include <headgate/model.h>
#include <headgate/prompts.h>
#include <headgate/session.h>
#include <headgate/tokenizer.h>

#endif
