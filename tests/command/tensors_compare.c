/* SPDX-License-Identifier: MIT */
/*
 * tensors_compare EXPECTED FOUND TOLERANCE [NAME...]: the named tensors of two safetensors files
 * are of one shape and differ by no more than TOLERANCE times the largest value of the expected row
 * (last axis; 1 where that is smaller). input_ids must be equal. At least one name is required.
 */
#include "tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const hg_test_tensors *a, const hg_test_tensors *b, const char *name,
                   double tolerance)
{
    uint32_t shape_a[4], shape_b[4];
    size_t count = hg_test_tensors_count(a, name, shape_a), row = 1;
    float *x = hg_test_tensors_f32(a, name), *y = hg_test_tensors_f32(b, name);
    double worst = 0;
    int same = count > 0 && hg_test_tensors_count(b, name, shape_b) == count &&
               memcmp(shape_a, shape_b, sizeof(shape_a)) == 0 && x && y;

    for (int i = 0; i < 4; i++)
        row = shape_a[i] > 1 ? shape_a[i] : row;
    for (size_t first = 0; same && first < count; first += row) {
        double largest = 1;

        for (size_t i = first; i < first + row && i < count; i++)
            largest = fmax(largest, fabs((double)x[i]));
        for (size_t i = first; i < first + row && i < count; i++) {
            double error = fabs((double)x[i] - (double)y[i]) / largest;

            worst = error > worst || isnan(error) ? error : worst;
        }
    }
    if (!same)
        fprintf(stderr, "tensors_compare: %s: missing, or of another shape\n", name);
    else if (!(worst <= tolerance))
        fprintf(stderr, "tensors_compare: %s: differs by %g\n", name, worst);
    free(x);
    free(y);
    return same && worst <= tolerance;
}

static int compare_ids(const hg_test_tensors *a, const hg_test_tensors *b)
{
    size_t count = hg_test_tensors_count(a, "input_ids", NULL);
    int32_t *x = hg_test_tensors_i32(a, "input_ids"), *y = hg_test_tensors_i32(b, "input_ids");
    int same = count > 0 && hg_test_tensors_count(b, "input_ids", NULL) == count && x && y &&
               memcmp(x, y, count * sizeof(*x)) == 0;

    if (!same)
        fprintf(stderr, "tensors_compare: input_ids differ\n");
    free(x);
    free(y);
    return same;
}

int main(int argc, char **argv)
{
    hg_test_tensors *a = argc > 4 ? hg_test_tensors_read(argv[1]) : NULL;
    hg_test_tensors *b = argc > 4 ? hg_test_tensors_read(argv[2]) : NULL;
    int good = a && b && compare_ids(a, b);

    for (int i = 4; good && i < argc; i++)
        good = compare(a, b, argv[i], atof(argv[3]));
    hg_test_tensors_free(a);
    hg_test_tensors_free(b);
    return good ? 0 : 1;
}
