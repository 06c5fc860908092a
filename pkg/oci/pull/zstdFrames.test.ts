import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { constants, createZstdDecompress, zstdCompressSync } from "node:zlib";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createZstdFrameSplitter } from "./zstdFrames.ts";

async function decompress(stream: Buffer, cut: number): Promise<Buffer> {
  const chunks = Array.from({ length: Math.ceil(stream.length / cut) }, (_, i) => stream.subarray(i * cut, (i + 1) * cut));
  const out = createZstdDecompress();
  const [, bytes] = await Promise.all([pipeline(Readable.from(chunks), createZstdFrameSplitter(), out), buffer(out)]);
  return bytes;
}

function skippable(length: number, kind: number): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(0x184d2a50 + kind, 0);
  head.writeUInt32LE(length, 4);
  return Buffer.concat([head, Buffer.alloc(length, 0x28)]);
}

test("createZstdFrameSplitter returns the data of all frames for any frames and chunks", { timeout: 60_000 }, async () => {
  const content = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.nat(200_000).map((size) => new Uint8Array(size).fill(7)),
  );
  const options = fc.record({ checksum: fc.boolean(), level: fc.constantFrom(1, 3, 19) });
  const frame = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(content, options).map(([data, o]) => ({ data: Buffer.from(data), bytes: compress(data, o) })) },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.nat(50), fc.nat(15)).map(([size, kind]) => ({ data: Buffer.alloc(0), bytes: skippable(size, kind) })),
    },
  );
  const empty = { data: Buffer.alloc(0), bytes: zstdCompressSync(Buffer.alloc(0)) };
  await fc.assert(
    fc.asyncProperty(
      fc.array(frame, { maxLength: 8 }).map((frames) => [...frames, empty]),
      fc.integer({ min: 1, max: 70_000 }),
      async (frames, cut) => {
        const got = await decompress(Buffer.concat(frames.map(({ bytes }) => bytes)), cut);
        expect(got.equals(Buffer.concat(frames.map(({ data }) => data)))).toBe(true);
      },
    ),
    { numRuns: 150 },
  );
});

function compress(data: Uint8Array, o: { checksum: boolean; level: number }): Buffer {
  return zstdCompressSync(data, {
    params: { [constants.ZSTD_c_compressionLevel]: o.level, [constants.ZSTD_c_checksumFlag]: o.checksum ? 1 : 0 },
  });
}

test("createZstdFrameSplitter treats a large frame with many blocks as one frame", async () => {
  const data = Buffer.from(Array.from({ length: 1_500_000 }, (_, i) => (i * i * 31) % 251));
  const got = await decompress(Buffer.concat([zstdCompressSync(data), zstdCompressSync(data)]), 65_536);
  expect(got.equals(Buffer.concat([data, data]))).toBe(true);
});
