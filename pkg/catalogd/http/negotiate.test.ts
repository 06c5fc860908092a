import { expect, test } from "vitest";
import { chooseEncoding } from "./conditional.ts";

test.for([
  [undefined, undefined],
  ["", undefined],
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["zstd", "zstd"],
  ["gzip, zstd", "zstd"],
  ["gzip, deflate, br, zstd", "zstd"],
  ["gzip;q=1.0, zstd;q=0.9", "gzip"],
  ["GZIP ; Q=0.5", "gzip"],
  ["gzip;q=0", undefined],
  ["identity", undefined],
  ["br", undefined],
  ["*", "zstd"],
  ["*, zstd;q=0", "gzip"],
  ["*;q=0, gzip", "gzip"],
  ["*;q=0", undefined],
  ["gzip;q=x", undefined],
] as const)("chooseEncoding returns the coding for Accept-Encoding %j: %s", ([header, want]) => {
  expect(chooseEncoding(header)).toBe(want);
});

test("chooseEncoding returns only available encodings", () => {
  expect([chooseEncoding("zstd, gzip;q=0.1", ["gzip"]), chooseEncoding("zstd", ["gzip"]), chooseEncoding("zstd", [])]).toEqual([
    "gzip",
    undefined,
    undefined,
  ]);
});
