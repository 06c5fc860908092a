import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import { decodeMetas, MetaDecoder } from "./decode.ts";
import { ContentError, type Meta } from "./types.ts";

interface Case extends CaseHead {
  text: string;
  want?: [schema: string, packageName: string, name: string][];
  error?: string;
}

const CASES = loadCases<Case>("decode");

async function decoded(chunks: Iterable<Uint8Array>): Promise<{ metas: Meta[]; error: unknown }> {
  const metas: Meta[] = [];
  try {
    for await (const meta of decodeMetas(chunks, "dir/catalog.yaml")) metas.push(meta);
    return { metas, error: undefined };
  } catch (error) {
    return { metas, error };
  }
}

function pieces(text: string, size: number): Uint8Array[] {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}

describe.each([1, 3, 7, 1 << 20])("decodeMetas with chunks of %i bytes", (size) => {
  test.for(CASES)("decodeMetas: $name", async ({ text, want = [], error }) => {
    const got = await decoded(pieces(text, size));
    expect(got.metas.map((meta) => [meta.schema, meta.package, meta.name])).toEqual(want);
    if (error === undefined) expect(got.error).toBeUndefined();
    else {
      expect(got.error).toBeInstanceOf(ContentError);
      expect((got.error as ContentError).message).toContain(`dir/catalog.yaml: ${error}`);
    }
  });
});

test("decodeMetas keeps all fields and formats numbers like Go", async () => {
  const { metas } = await decoded([Buffer.from("schema: a\nz: 1.0\nB: [1e21, 0x10, 'yes', yes]\nbig: 9007199254740993\n")]);
  expect(metas.map((meta) => encodeCanonicalJson(meta.blob))).toEqual([
    '{"B":[1e+21,16,"yes",true],"big":9007199254740992,"schema":"a","z":1}',
  ]);
});

test("decodeMetas rejects a document that is too large before it has read the whole document", async () => {
  let read = 0;
  function* endless(): Generator<Uint8Array> {
    for (;;) {
      read++;
      yield Buffer.from('{"schema":"aaaaaaaaaaaaaaaaaaaaaaaaaaaa');
    }
  }
  const consume = async (): Promise<void> => {
    for await (const _ of decodeMetas(endless(), "f", { maxDocumentBytes: 10_000 })) expect.unreachable();
  };
  await expect(consume()).rejects.toThrow("f: document 1, line 1: document too large: more than 10000 bytes");
  expect(read).toBeLessThan(1_000);
});

describe("decodeMetas with malicious content", () => {
  const head = "schema: a\nname: b\nx: ";
  const lists = Array.from({ length: 20 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(10)}]`).join("\n");
  const key = "k".repeat(400_000);
  test.for<[what: string, content: string | Uint8Array, message: string]>([
    ["aliases of aliases", `${head}1\na0: &a0 [x]\n${lists}`, "document 1, line 1: document contains excessive aliasing"],
    ["a recursive list", `${head}&a [*a]`, "document 1, line 1: anchor 'a' value contains itself"],
    ["nesting in JSON", `{"schema":"a","x":${"[".repeat(900_000)}`, "document 1, line 1: nested deeper than 1000"],
    ["nesting in YAML flow style", `${head}${"[".repeat(900_000)}`, "document 1, line 3: nested deeper than 1000"],
    ["nesting in YAML block style", `${head}\n${"- ".repeat(400_000)}`, "document 1, line 4: nested deeper than 1000"],
    [
      "a long text in JSON",
      `{"schema":"a","x":"${"x".repeat(1_000_000)}"}`,
      "document 1, line 1: document too large: more than 1000000 bytes",
    ],
    ["a long text in YAML", head + "x".repeat(1_000_000), "document 1, line 1: document too large: more than 1000000 bytes"],
    ["a long separator line", `a: b\n---${"x".repeat(900_000)}`, "document 1, line 2: invalid Yaml document separator: "],
    ["a long unknown anchor", `${head}*${"t".repeat(900_000)}`, "document 1, line 3: unknown anchor 'ttt"],
    [
      "long keys that differ in case",
      `{"schema":"a","${key}":1,"${key.toUpperCase()}":1}`,
      'document 1, line 1: duplicate keys for key "kkk',
    ],
    ["a thousand keys that differ in case", `{"schema":"a",${sameKeys(1_000)}}`, 'document 1, line 1: duplicate keys for key "abcdefghij"'],
    ["a long tag", `${head}!<${"t ".repeat(400_000)}> x`, "document 1, line 3: did not find the expected '>'"],
    [
      "UTF-16",
      Buffer.from("\ufeffschema: a\n", "utf16le"),
      "document 1, line 1: invalid UTF-8: the file begins with a UTF-16 byte order mark",
    ],
    ["a NUL", "schema: a\0b\n", "document 1, line 1: control characters are not allowed"],
    ["an infinity", `${head}.inf`, "document 1, line 3: json: unsupported value: .inf"],
  ])("decodeMetas throws a short error with the location for %s", async ([, content, message]) => {
    const decode = async (): Promise<void> => {
      for await (const _ of decodeMetas([Buffer.from(content)], "f", { maxDocumentBytes: 1_000_000 })) expect.unreachable();
    };
    const error: unknown = await decode().catch((err: unknown) => err);
    expect(error).toBeInstanceOf(ContentError);
    expect((error as Error).message).toContain(`f: ${message}`);
    expect((error as Error).message.length).toBeLessThan(400);
  });

  test("decodeMetas rejects millions of values in one object", async () => {
    const { error } = await decoded(pieces(`{"schema":"a","x":[${"1,".repeat(2_000_001)}1]}`, 1 << 18));
    expect(error).toMatchObject({ message: "dir/catalog.yaml: document 1, line 1: object too large: more than 2000000 values" });
  });
});

/** Returns fields whose keys differ only in case. */
function sameKeys(count: number): string {
  const cased = (i: number): string => Array.from("abcdefghij", (c, bit) => ((i >> bit) & 1 ? c.toUpperCase() : c)).join("");
  return Array.from({ length: count }, (_, i) => `"${cased(i)}":1`).join(",");
}

test("decodeMetas rejects invalid UTF-8 in YAML and replaces it in JSON", async () => {
  const bad = Buffer.from([0xff]);
  const yaml = await decoded([Buffer.from("schema: a\nname: "), bad]);
  expect(yaml.error).toMatchObject({ message: "dir/catalog.yaml: document 1, line 1: invalid UTF-8" });
  const json = await decoded([Buffer.from('{"schema":"a","name":"'), bad, Buffer.from('"}')]);
  expect(json.metas.map((meta) => meta.name)).toEqual(["\ufffd"]);
});

test("decodeMetas skips a byte order mark before YAML", async () => {
  const { metas } = await decoded([Buffer.from("\ufeffschema: a\n")]);
  expect(metas.map((meta) => meta.schema)).toEqual(["a"]);
});

test("decodeMetas decodes any objects from JSON Lines, concatenated JSON and YAML in chunks of any size", async () => {
  const blob = fc.dictionary(
    fc.string().filter((key) => !/^(schema|package|name)$/i.test(key)),
    fc.jsonValue({ maxDepth: 3 }),
    { maxKeys: 4 },
  );
  const sizes = fc.integer({ min: 1, max: 200 });
  await fc.assert(
    fc.asyncProperty(fc.array(blob, { maxLength: 5 }), sizes, fc.constantFrom("\n", "", "\n---\n"), async (blobs, size, between) => {
      const lines = blobs.map((b, i) => encodeCanonicalJson({ ...b, schema: `s${i}` }));
      const distinct = lines.filter((line) => noCaseDuplicates(line) && !/[:[,]-0[,\]}]/.test(line)); // YAML has no negative zero
      const text = (between === "\n---\n" ? "# catalog\n" : "") + distinct.join(between);
      const got = await decoded(pieces(text, size));
      expect(got.error).toBeUndefined();
      expect(got.metas.map((meta) => encodeCanonicalJson(meta.blob))).toEqual(distinct);
    }),
    { numRuns: 200 },
  );
});

function noCaseDuplicates(line: string): boolean {
  const keys = Object.keys(JSON.parse(line) as object).map((key) => key.toUpperCase().toLowerCase());
  return new Set(keys).size === keys.length;
}

interface OddCase extends CaseHead {
  text?: string;
  base64?: string;
  /** Canonical JSON of each document; null for an empty document. */
  want?: (string | null)[];
  refused?: boolean;
}

describe.each([1, 1 << 20])("MetaDecoder compared with the Go loader with chunks of %i bytes", (size) => {
  test.for(loadCases<OddCase>("fbc-load"))("MetaDecoder: $name", ({ text = "", base64, want = [], refused = false }) => {
    const bytes = base64 === undefined ? Buffer.from(text) : Buffer.from(base64, "base64");
    const got: (string | null)[] = [];
    const decoder = new MetaDecoder("f", { onEmpty: () => got.push(null) });
    const decode = (): void => {
      for (let at = 0; at < bytes.length; at += size)
        for (const { blob } of decoder.push(bytes.subarray(at, at + size))) got.push(encodeCanonicalJson(blob));
      for (const { blob } of decoder.end()) got.push(encodeCanonicalJson(blob));
    };
    if (refused) return expect(decode).toThrow(ContentError);
    decode();
    expect(got).toEqual(want);
  });
});
