import { crc32 } from "node:zlib";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { appendedCrc32 } from "./crc32.ts";

/** The checksum of two texts, one behind the other: the second as a file of its own. */
const joined = (first: number, second: number, length: number): number => appendedCrc32(first, { before: 0, after: second, bytes: length });

const bytes = fc.uint8Array({ maxLength: 5_000 });

test("the checksum of two texts joined is that of their checksums joined", () => {
  fc.assert(
    fc.property(bytes, bytes, (a, b) => {
      expect(joined(crc32(a), crc32(b), b.length)).toBe(crc32(Buffer.concat([a, b])));
    }),
  );
});

test("it does not matter in which order texts are joined, and nothing added changes nothing", () => {
  fc.assert(
    fc.property(bytes, bytes, bytes, (a, b, c) => {
      const [x, y, z] = [crc32(a), crc32(b), crc32(c)] as const;
      const left = joined(joined(x, y, b.length), z, c.length);
      expect(left).toBe(joined(x, joined(y, z, c.length), b.length + c.length));
      expect([joined(x, 0, 0), joined(0, x, a.length)]).toEqual([x, x]);
    }),
  );
});

test("a stretch of a file is appended by what the file's checksum is before and behind it", () => {
  fc.assert(
    fc.property(bytes, bytes, bytes, (text, head, stretch) => {
      const file = { before: crc32(head), after: crc32(Buffer.concat([head, stretch])), bytes: stretch.length };
      expect(appendedCrc32(crc32(text), file)).toBe(crc32(Buffer.concat([text, stretch])));
    }),
  );
});

test("lengths beyond 4 GiB count too", () => {
  const zeros = (count: number): number => joined(0xffffffff, 0, count);
  const part = 3 * 2 ** 30;
  expect(joined(zeros(part), 0, part)).toBe(zeros(2 * part));
  expect(zeros(2 * part)).not.toBe(zeros((2 * part) % 2 ** 32));
});
