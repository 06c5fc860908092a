import { expect, test } from "vitest";
import { parseWarnings } from "./response.ts";

const LONG = "x".repeat(600);

// Source: RFC 7234 5.5, k8s.io/apimachinery v0.36.3 pkg/util/net/http_test.go TestParseWarningHeader
test.for<[what: string, header: string | string[] | undefined, texts: string[]]>([
  ["no header", undefined, []],
  ["an empty one", "", []],
  ["one warning", '299 - "batch/v1beta1 CronJob is deprecated"', ["batch/v1beta1 CronJob is deprecated"]],
  ["an agent and a date", '299 agent "a" "Wed, 21 Oct 2015 07:28:00 GMT"', ["a"]],
  [
    "escaped quotes and backslashes",
    String.raw`299 - "would violate \"restricted:latest\" at C:\\x, y"`,
    ['would violate "restricted:latest" at C:\\x, y'],
  ],
  ["several in one value, as HTTP/2 joins them", '299 - "a, b", 299 - "c" "date",299 x "d"', ["a, b", "c", "d"]],
  ["several headers, as in HTTP/1.1", ['299 - "a"', '299 - "b"'], ["a", "b"]],
  ["a duplicate", ['299 - "a"', '299 - "a"'], ["a"]],
  ["an invalid warning ends it", '299 - "a", nonsense, 299 - "b"', ["a"]],
  ["a missing code", '- "a"', []],
  ["an unterminated text", '299 - "a', []],
  ["UTF-8 decoded as Latin-1", Buffer.from('299 - "für 日本"').toString("latin1"), ["für 日本"]],
  ["terminal control characters", '299 - "a\u001b[2Jb\u202ec\u200bd"', ["a\ufffd[2Jb\ufffdc\ufffdd"]],
  ["a password of a proxy", '299 - "env value http://user:s3cr3t@proxy"', ["env value http://[redacted]@proxy"]],
  ["only blanks", '299 - "   "', []],
  ["a long text is truncated", `299 - "${LONG}"`, [`${LONG.slice(0, 499)}…`]],
])("parseWarnings parses %s", ([, header, texts]) => {
  expect(parseWarnings(header)).toEqual(texts);
});

test("parseWarnings returns at most 50 warnings", () => {
  const header = Array.from({ length: 1_000 }, (_, i) => `299 - "${i}"`).join(", ");
  expect(parseWarnings(header)).toEqual(Array.from({ length: 50 }, (_, i) => String(i)));
});
