/* SPDX-License-Identifier: MIT */
/* Fonts for the labels of figures, script by script. Asked in a child: fontconfig reads files of
 * every kind, and newer pangos start threads. */
#include "doctor.h"
#include "doctor_probe.h"
#include "figure.h"

#include "message.h"

#include <stdio.h>
#include <string.h>

static const char section[] = "fonts";

typedef struct font_sample {
    const char *name;
    uint32_t codepoint;
} font_sample;

static const font_sample samples[] = {
    {"Latin", 'A'},     {"Chinese", 0x4e2d}, {"Japanese", 0x3042},   {"Korean", 0xd55c},
    {"Arabic", 0x0627}, {"Hebrew", 0x05d0},  {"Devanagari", 0x0905}, {"emoji", 0x1f642},
};
enum { SAMPLE_COUNT = sizeof(samples) / sizeof(samples[0]) };

/* FAMI and PACK for each, in order. */
static void ask(const hg_question *question, int fd)
{
    (void)question;
    for (uint32_t i = 0; i < SAMPLE_COUNT; i++) {
        hg_figure_font font;

        if (hg_figure_find_font(samples[i].codepoint, &font) != HG_OK) {
            hg_probe_answer(fd, "NONE", "");
            return;
        }
        hg_probe_answer(fd, "FAMI", font.family);
        hg_probe_answer(fd, "PACK", font.package ? font.package : "");
    }
}

static void tell_font(hg_doctor *doctor, const font_sample *sample, const char *family,
                      const char *package)
{
    const int is_latin = sample->codepoint == 'A';
    char command[HG_COMMAND_SIZE];

    if (*family)
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, sample->name, NULL, "%s", family);
    else
        hg_doctor_add(doctor, is_latin ? HG_DOCTOR_WRONG : HG_DOCTOR_NOTE, section, sample->name,
                      hg_doctor_install(doctor, *package ? package : "fonts-noto-core", command),
                      "no font: these characters become boxes in figures");
}

static void tell(hg_doctor *doctor, const hg_probe *probe)
{
    char command[HG_COMMAND_SIZE], text[640];

    if (hg_probe_fact(probe, "NONE")) {
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, "figures",
                      "cmake -S . -B build -DHG_FIGURES=ON && cmake --build build",
                      "this headgate was built without them: no font is needed");
        return;
    }
    for (uint32_t i = 0; i + 1 < probe->fact_count && i / 2 < SAMPLE_COUNT; i += 2)
        tell_font(doctor, &samples[i / 2], probe->facts[i].data, probe->facts[i + 1].data);
    if (!probe->ended)
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, "search",
                      hg_doctor_reinstall(doctor, "fontconfig fonts-dejavu-core", command),
                      "looking for fonts %s", hg_probe_failure(probe, text));
}

void hg_doctor_fonts(hg_doctor *doctor)
{
    hg_probe probe;
    hg_result res;

    hg_message_status("looking for fonts");
    res = hg_probe_run(&probe, ask, NULL);
    if (res == HG_OK)
        tell(doctor, &probe);
    else
        doctor->result = res;
    hg_probe_free(&probe);
}
