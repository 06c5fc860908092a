import * as fc from "fast-check";
import { expect, test } from "vitest";
import { jsonLines, readBodyText } from "./response.ts";

async function* cutAt(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let start = 0;
  for (const place of [...places, bytes.length]) {
    yield await Promise.resolve(bytes.subarray(start, place));
    start = place;
  }
}

test("jsonLines returns the same values for chunks of any size", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 12 }), async (values, cuts) => {
      const wire = values.map((value) => JSON.parse(JSON.stringify(value)) as unknown);
      const bytes = Buffer.from(wire.map((value) => `${JSON.stringify(value)}\n`).join(""));
      expect(await Array.fromAsync(jsonLines(cutAt(bytes, cuts)))).toEqual(wire);
    }),
  );
});

test("jsonLines decodes multibyte characters that are split between chunks", async () => {
  const bytes = Buffer.from('{"name":"日本"}\n');
  expect(await Array.fromAsync(jsonLines(cutAt(bytes, [...bytes.keys()])))).toEqual([{ name: "日本" }]);
});

test("jsonLines drops an incomplete last line, which a broken connection leaves", async () => {
  expect(await Array.fromAsync(jsonLines(cutAt(Buffer.from('{"a":1}\n\n{"b":'), [3])))).toEqual([{ a: 1 }]);
});

test("jsonLines throws an error for a line that is not JSON", async () => {
  await expect(Array.fromAsync(jsonLines(cutAt(Buffer.from("<html>\n"), [])))).rejects.toThrow(SyntaxError);
});

test("jsonLines limits the size of a line without an end", async () => {
  async function* endless(): AsyncGenerator<Uint8Array> {
    const chunk = Buffer.alloc(1024 * 1024, "x");
    for (;;) yield await Promise.resolve(chunk);
  }
  await expect(Array.fromAsync(jsonLines(endless()))).rejects.toThrow("larger than 33554432 bytes");
});

test("readBodyText returns the whole body", async () => {
  expect(await readBodyText(cutAt(Buffer.from("grün"), [3]))).toBe("grün");
});
