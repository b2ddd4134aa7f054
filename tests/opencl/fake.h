/* SPDX-License-Identifier: MIT */
/*
 * A made-up OpenCL driver of one device, in plain memory: any limits, any words, work that stays in
 * flight until it is let go, work that is given up. It knows the tiny kernel `scale` alone. Every
 * object is malloced, so that a leak checker and the address sanitizer see a lost or a freed one.
 */
#ifndef HG_TEST_OPENCL_FAKE_H
#define HG_TEST_OPENCL_FAKE_H

#include "opencl/cl.h"

typedef struct hg_fake_device {
    uint32_t platforms, devices;
    const char *platform_name, *platform_version;
    const char *name, *version, *c_version, *driver_version, *profile, *extensions;
    cl_device_type type;
    cl_bool available, compiler, little_endian, unified;
    cl_device_fp_config fp32;
    cl_uint align_bits, address_bits, dimensions;
    size_t group, parameters;
    cl_ulong shared, alloc, memory;
    cl_uint mute; /* this question is not answered; 0: all are */
} hg_fake_device;

typedef struct hg_fake {
    hg_fake_device device;
    uint32_t hold;   /* set by hg_fake_hold */
    cl_int give_up;  /* below 0: the status of all events */
    uint32_t builds; /* from source */
    uint32_t refuse_binaries;
    uint64_t serial, let_go;  /* of the last command; up to which all are over */
    uint32_t freed_in_flight; /* buffers freed while a command that uses them was: must stay 0 */
    uint32_t finished;        /* calls of clFinish */
    cl_ulong clock;
} hg_fake;

extern hg_fake hg_fake_state;

/* An ordinary CPU device, nothing held; and the table of functions. */
void hg_fake_start(hg_cl *out);

/* 1: what is enqueued from now on is not over before it is waited for, or before 0. Nothing ever is
 * over before a flush. */
void hg_fake_hold(uint32_t hold);

#endif
