import { expect, test } from "vitest";
import { wireJson } from "./request.ts";

test("integers beyond 2^53 keep all their digits, absent members stay absent", () => {
  expect(wireJson({ maximum: 9223372036854775807n, minimum: [-9223372036854775808n], one: 1, gone: undefined })).toBe(
    '{"maximum":9223372036854775807,"minimum":[-9223372036854775808],"one":1}',
  );
});
