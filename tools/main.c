/* SPDX-License-Identifier: MIT */
/* headgate: the way from a command line to an exit code. */
#include "commands.h"

#include "interrupt.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static hg_result print_version(hg_output *output)
{
    uint32_t library = hg_version();

    return hg_output_format(output,
                            "headgate %s\nlibrary: %u.%u.%u, exact order: %s\ncompiler: %s\n",
                            HG_VERSION_STRING, library >> 16, (library >> 8) & 0xff, library & 0xff,
                            HG_EXACT_REVISION, __VERSION__);
}

/* --help, --version, or a command line without a command. */
static int print_text(const hg_args *args, const hg_command *const *commands, uint32_t count)
{
    hg_output *output;
    hg_result res = hg_output_open("-", &output);

    if (res != HG_OK)
        return hg_exit_code(res);
    if (hg_args_count(args, HG_OPTION_HELP))
        res = args->command ? hg_help_command(output, args->command)
                            : hg_help_all(output, commands, count);
    else
        res = print_version(output);
    if (res == HG_OK)
        res = hg_output_commit(&output);
    hg_output_discard(&output);
    return hg_exit_code(res);
}

static int dispatch(const hg_args *args, const hg_command *const *commands, uint32_t count,
                    int argc, char **argv)
{
    hg_app app;
    hg_result res;
    int code;

    res = hg_app_open(&app, args, argc, argv);
    if (res != HG_OK)
        return hg_exit_code(res);
    if (hg_args_count(args, HG_OPTION_HELP) || hg_args_count(args, HG_OPTION_VERSION)) {
        code = print_text(args, commands, count);
    } else if (!args->command) {
        code = hg_exit_code(hg_message_fail(
            HG_ERR_ARGUMENT,
            "which command? 'headgate --help' lists them, 'headgate demo' shows pictures"));
    } else {
        code = args->command->run(&app);
    }
    hg_app_close(&app);
    return code;
}

/* Drivers write to descriptors 0 to 2 if they were closed, and files that we open would get those
 * numbers. */
static void keep_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
    }
}

int main(int argc, char **argv)
{
    const hg_command *const *commands;
    uint32_t count;
    hg_args args;
    hg_result res;
    int code;

    keep_standard_descriptors();
    hg_interrupt_install();
    hg_message_setup(HG_LOG_WARNING);
    commands = hg_commands(&count);
    res = hg_args_parse(commands, count, argc, argv, &args);
    if (res != HG_OK)
        return hg_exit_code(res);
    code = dispatch(&args, commands, count, argc, argv);
    hg_args_free(&args);
    if (code != 0 && hg_interrupt_pending())
        hg_interrupt_raise(hg_interrupt_pending());
    return code;
}
