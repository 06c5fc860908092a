import { expect, test } from "vitest";
import { hashChunk } from "./encode.ts";

test.for<[name: string, data: Uint8Array, hash: string]>([
  ["nothing", Buffer.from(""), "zpzjzzeeeirsk"],
  ["one byte", Buffer.from("a"), "v4r4ytegahwiy"],
  ["a vector of the FNV specification", Buffer.from("foobar"), "qwkec3pxhft5q"],
  ["every byte", Buffer.concat(Array.from({ length: 50 }, () => Uint8Array.from({ length: 256 }, (_, i) => i))), "2goe6yyaipmsk"],
])("hashChunk returns the 64-bit FNV-1a hash in base32 for %s", ([, data, hash]) => {
  expect(hashChunk(data)).toBe(hash);
});
