/* SPDX-License-Identifier: MIT */
/* Outputs, the JSON writer and the safetensors writer, read back by other code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <math.h>

#include "json_writer.h"
#include "message.h"
#include "safetensors_write.h"
#include "tensors.h"

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "command-output.XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(folder); /* fails when a test has left something */
}

static void expect_file(const char *name, const char *text)
{
    size_t bytes = 0;
    char *found = hg_test_file_read(in_folder(name), &bytes);

    assert_non_null(found);
    assert_int_equal(bytes, strlen(text));
    assert_string_equal(found, text);
    free(found);
}

static void write_file(const char *name, const char *text)
{
    hg_output *output;

    assert_int_equal(hg_output_open(in_folder(name), &output), HG_OK);
    assert_int_equal(hg_output_text(output, text), HG_OK);
    assert_int_equal(hg_output_commit(&output), HG_OK);
    assert_null(output);
}

static void test_commit_and_discard(void **state)
{
    hg_output *output;

    (void)state;
    write_file("x", "first");
    expect_file("x", "first");
    write_file("x", "second");
    expect_file("x", "second");

    assert_int_equal(hg_output_open(in_folder("x"), &output), HG_OK);
    assert_int_equal(hg_output_text(output, "third"), HG_OK);
    expect_file("x", "second"); /* not before the commit */
    hg_output_discard(&output);
    assert_null(output);
    hg_output_discard(&output);
    expect_file("x", "second");
    assert_int_equal(unlink(in_folder("x")), 0);

    assert_int_equal(hg_output_open(in_folder("y"), &output), HG_OK);
    hg_output_discard(&output);
    assert_int_not_equal(access(in_folder("y"), F_OK), 0);
}

static void test_failures(void **state)
{
    hg_output *output;
    char block[1 << 16];

    (void)state;
    hg_message_setup((hg_log_level)-1);
    assert_int_equal(hg_output_open(folder, &output), HG_ERR_OUTPUT);
    assert_null(output);
    assert_int_equal(hg_output_open(in_folder("none/x"), &output), HG_ERR_OUTPUT);
    assert_int_equal(hg_output_open("", &output), HG_ERR_OUTPUT);
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(hg_output_open("/dev/full", &output), HG_OK);
    memset(block, 'x', sizeof(block));
    (void)hg_output_write(output, block, sizeof(block));
    assert_int_equal(hg_output_write(output, block, sizeof(block)), HG_ERR_OUTPUT);
    assert_int_equal(hg_output_commit(&output), HG_ERR_OUTPUT);
    assert_null(output);
    assert_int_equal(hg_output_open("/dev/full", &output), HG_OK);
    assert_int_equal(hg_output_text(output, "little"), HG_OK); /* still in a buffer */
    assert_int_equal(hg_output_commit(&output), HG_ERR_OUTPUT);
}

static void test_folders(void **state)
{
    (void)state;
    hg_message_setup((hg_log_level)-1);
    assert_int_equal(hg_output_make_folder(in_folder("a/b/c")), HG_OK);
    assert_int_equal(hg_output_make_folder(in_folder("a/b/c/")), HG_OK);
    write_file("a/file", "");
    assert_int_equal(hg_output_make_folder(in_folder("a/file")), HG_ERR_OUTPUT);
    assert_int_equal(hg_output_make_folder(in_folder("a/file/x")), HG_ERR_OUTPUT);
    assert_int_equal(hg_output_make_folder(""), HG_ERR_OUTPUT);
    assert_int_equal(unlink(in_folder("a/file")), 0);
    assert_int_equal(rmdir(in_folder("a/b/c")), 0);
    assert_int_equal(rmdir(in_folder("a/b")), 0);
    assert_int_equal(rmdir(in_folder("a")), 0);
}

static const double numbers[] = {
    0,    -0.0,     1,    -1,      0.1,     1.0 / 3,  1e300, 5e-324,
    1e-5, 123456.7, 2e15, 1.7e308, 0.52083, -2.5e-10, 3.25,  9007199254740993.0};
static const float floats[] = {0,      1,       0.1f, 1.0f / 3,     1e-38f,
                               1e-45f, 3.4e38f, 0.5f, -0.24067633f, 16777217.0f};
static const char mixed[] = "q\"b\\n\nc\001d\177\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\x80";
static const char broken[] = "a\xff"
                             "b\xc3"
                             "c\xed\xa0\x80"
                             "d\xf5\x80\x80\x80\xe4\xbd";

static void put_everything(hg_put *put, hg_output *output)
{
    hg_put_start(put, output, "test");
    hg_put_text(put, "text", mixed);
    hg_put_text(put, "broken", broken);
    hg_put_text(put, "none", NULL);
    hg_put_bytes(put, "nul", "a\0b", 3);
    hg_put_number(put, "nan", (double)NAN);
    hg_put_number(put, "infinity", (double)INFINITY);
    hg_put_float(put, "float_nan", NAN);
    hg_put_unsigned(put, "unsigned", UINT64_MAX);
    hg_put_integer(put, "integer", -5);
    hg_put_boolean(put, "yes", 2);
    hg_put_hex(put, "hex", (const uint8_t *)"\x0a\xff", 2);
    hg_put_array(put, "numbers");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        hg_put_number(put, NULL, numbers[i]);
    hg_put_end(put);
    hg_put_floats(put, "floats", floats, sizeof(floats) / sizeof(floats[0]));
    hg_put_object(put, "empty");
    hg_put_end(put);
    hg_put_row(put, "rows");
    hg_put_object(put, NULL);
    hg_put_null(put, "x");
    hg_put_end(put);
    hg_put_end(put);
    hg_put_finish(put);
}

static void test_json(void **state)
{
    hg_output *output;
    hg_put put;
    char *text;
    size_t bytes;
    const cJSON *item;
    cJSON *root;
    int i = 0;

    (void)state;
    assert_int_equal(hg_output_open_memory(&output), HG_OK);
    put_everything(&put, output);
    assert_int_equal(hg_output_take(&output, &text, &bytes), HG_OK);
    assert_int_equal(strlen(text), bytes);
    root = cJSON_ParseWithOpts(text, NULL, 1);
    assert_non_null(root);
    assert_int_equal(cJSON_GetObjectItem(root, "schema")->valueint, 1);
    assert_string_equal(cJSON_GetObjectItem(root, "text")->valuestring, mixed);
    assert_string_equal(
        cJSON_GetObjectItem(root, "broken")->valuestring,
        "a\xef\xbf\xbd"
        "b\xef\xbf\xbd"
        "c\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
        "d\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(root, "none")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(root, "nan")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(root, "infinity")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(root, "float_nan")));
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(root, "yes")));
    assert_string_equal(cJSON_GetObjectItem(root, "hex")->valuestring, "0aff");
    assert_non_null(strstr(text, "\"nul\": \"a\\u0000b\""));
    assert_non_null(strstr(text, "\"unsigned\": 18446744073709551615"));
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(root, "numbers"))
        assert_true(item->valuedouble == numbers[i++]);
    assert_int_equal(i, sizeof(numbers) / sizeof(numbers[0]));
    i = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(root, "floats"))
        assert_true((float)item->valuedouble == floats[i++]);
    assert_int_equal(i, sizeof(floats) / sizeof(floats[0]));
    cJSON_Delete(root);
    free(text);
}

static void test_safetensors(void **state)
{
    static const hg_tensor_spec specs[] = {
        {"ids", "I64", 1, {3}},
        {"a.0", "F32", 2, {2, 3}},
        {"none", "F32", 2, {0, 3}},
    };
    static const hg_tensor_note notes[] = {{"format", "pt"}, {"command", "x \"y\" \xff"}};
    static const int64_t ids[] = {1, 2, 300000};
    static const float values[] = {1, 2, 3, 4, 5, 0.1f};
    uint32_t shape[4];
    hg_test_tensors *tensors;
    hg_tensor_file file;
    hg_output *output;
    float *found;
    int32_t *found_ids;

    (void)state;
    assert_int_equal(hg_output_open(in_folder("t"), &output), HG_OK);
    assert_int_equal(hg_tensor_file_start(&file, output, specs, 3, notes, 2), HG_OK);
    assert_int_equal(hg_tensor_file_append(&file, ids, sizeof(ids)), HG_OK);
    assert_int_equal(hg_tensor_file_append(&file, values, 8), HG_OK);
    assert_int_equal(hg_tensor_file_append(&file, values + 2, 16), HG_OK);
    assert_int_equal(file.bytes_left, 0);
    hg_tensor_file_finish(&file);
    assert_int_equal(hg_output_commit(&output), HG_OK);

    tensors = hg_test_tensors_read(in_folder("t"));
    assert_non_null(tensors);
    assert_int_equal(hg_test_tensors_count(tensors, "a.0", shape), 6);
    assert_int_equal(shape[0], 2);
    assert_int_equal(shape[1], 3);
    found = hg_test_tensors_f32(tensors, "a.0");
    found_ids = hg_test_tensors_i32(tensors, "ids");
    assert_memory_equal(found, values, sizeof(values));
    assert_int_equal(found_ids[2], 300000);
    free(found_ids);
    free(found);
    hg_test_tensors_free(tensors);
    assert_int_equal(unlink(in_folder("t")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commit_and_discard),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_safetensors),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
