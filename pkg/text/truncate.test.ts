import * as fc from "fast-check";
import { expect, test } from "vitest";
import { getErrorMessage, RetryableError, TerminalError, wrapError } from "../errors/errors.ts";
import { truncate, truncateExcerpt, truncateMessage } from "./truncate.ts";

const LIMIT = 32_768;
const NOTE = "\n\n... [message truncated]";
const long = fc
  .tuple(fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }), fc.nat({ max: 8_000 }))
  .map(([text, times]) => text.repeat(times).toWellFormed());

test("truncateMessage truncates a text over 32 KiB between two characters, and keeps a shorter text", () => {
  fc.assert(
    fc.property(long, (text) => {
      const bounded = truncateMessage(text);
      if (Buffer.byteLength(text) <= LIMIT) {
        expect(bounded).toBe(text);
        return;
      }
      const kept = bounded.slice(0, -NOTE.length);
      expect(bounded).toBe(kept + NOTE);
      expect(text.startsWith(kept)).toBe(true);
      expect(Buffer.byteLength(bounded)).toBeGreaterThan(LIMIT - 4);
      expect(Buffer.byteLength(bounded)).toBeLessThanOrEqual(LIMIT);
    }),
  );
});

test("every error limits the length of its message, including prefixes", () => {
  const text = "x".repeat(1_000_000);
  for (const err of [new RetryableError("Retrying", text), new TerminalError("Blocked", text), wrapError("load: ", new Error(text))])
    expect(Buffer.byteLength(getErrorMessage(err))).toBe(LIMIT);
  expect(getErrorMessage(wrapError("load: ", new TerminalError("Blocked", text)))).toMatch(/^load: x+\n\n\.\.\. \[message truncated\]$/);
});

test.each([
  ["abcd", "abcd", "abcd"],
  ["abcde", "abc…", "abcd…"],
  ["abc😀e", "abc…", "abc\ufffd…"],
  ["", "", ""],
])("truncate limits %j to four characters, and truncateExcerpt keeps four characters before the ellipsis", (text, truncated, begun) => {
  expect([truncate(text, 4), truncateExcerpt(text, { length: 4 })]).toEqual([truncated, begun]);
});
