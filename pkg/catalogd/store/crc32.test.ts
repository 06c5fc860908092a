import { crc32 } from "node:zlib";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { appendCrc32 } from "./crc32.ts";

/** Returns the checksum of two concatenated texts, of which the second is a whole file. */
const joined = (first: number, second: number, length: number): number => appendCrc32(first, { before: 0, after: second, bytes: length });

const bytes = fc.uint8Array({ maxLength: 5_000 });

test("appendCrc32 of two checksums is the checksum of the concatenated texts", () => {
  fc.assert(
    fc.property(bytes, bytes, (a, b) => {
      expect(joined(crc32(a), crc32(b), b.length)).toBe(crc32(Buffer.concat([a, b])));
    }),
  );
});

test("appendCrc32 is associative, and an empty text does not change the checksum", () => {
  fc.assert(
    fc.property(bytes, bytes, bytes, (a, b, c) => {
      const [x, y, z] = [crc32(a), crc32(b), crc32(c)] as const;
      const left = joined(joined(x, y, b.length), z, c.length);
      expect(left).toBe(joined(x, joined(y, z, c.length), b.length + c.length));
      expect([joined(x, 0, 0), joined(0, x, a.length)]).toEqual([x, x]);
    }),
  );
});

test("appendCrc32 appends a section of a file, given the file's checksums at the start and end of the section", () => {
  fc.assert(
    fc.property(bytes, bytes, bytes, (text, head, stretch) => {
      const file = { before: crc32(head), after: crc32(Buffer.concat([head, stretch])), bytes: stretch.length };
      expect(appendCrc32(crc32(text), file)).toBe(crc32(Buffer.concat([text, stretch])));
    }),
  );
});

test("appendCrc32 supports lengths beyond 4 GiB", () => {
  const zeros = (count: number): number => joined(0xffffffff, 0, count);
  const part = 3 * 2 ** 30;
  expect(joined(zeros(part), 0, part)).toBe(zeros(2 * part));
  expect(zeros(2 * part)).not.toBe(zeros((2 * part) % 2 ** 32));
});
