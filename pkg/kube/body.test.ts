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

test("the values do not depend on how the bytes are cut into chunks", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 12 }), async (values, cuts) => {
      const wire = values.map((value) => JSON.parse(JSON.stringify(value)) as unknown);
      const bytes = Buffer.from(wire.map((value) => `${JSON.stringify(value)}\n`).join(""));
      expect(await Array.fromAsync(jsonLines(cutAt(bytes, cuts)))).toEqual(wire);
    }),
  );
});

test("characters of several bytes survive a cut inside them", async () => {
  const bytes = Buffer.from('{"name":"日本"}\n');
  expect(await Array.fromAsync(jsonLines(cutAt(bytes, [...bytes.keys()])))).toEqual([{ name: "日本" }]);
});

test("a last line without its end is what a broken connection left: it is dropped", async () => {
  expect(await Array.fromAsync(jsonLines(cutAt(Buffer.from('{"a":1}\n\n{"b":'), [3])))).toEqual([{ a: 1 }]);
});

test("a line that is no JSON is an error", async () => {
  await expect(Array.fromAsync(jsonLines(cutAt(Buffer.from("<html>\n"), [])))).rejects.toThrow(SyntaxError);
});

test("a line without an end does not fill the memory", async () => {
  async function* endless(): AsyncGenerator<Uint8Array> {
    const chunk = Buffer.alloc(1024 * 1024, "x");
    for (;;) yield await Promise.resolve(chunk);
  }
  await expect(Array.fromAsync(jsonLines(endless()))).rejects.toThrow("larger than 33554432 bytes");
});

test("a body is read as one text", async () => {
  expect(await readBodyText(cutAt(Buffer.from("grün"), [3]))).toBe("grün");
});
