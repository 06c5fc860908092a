import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../api/k8s.ts";
import { CatalogText } from "./catalogText.ts";

const YAML = `# head
schema: olm.package # kind
name: foo
defaultChannel: 'stable' # the default
---
# the stable channel
schema: olm.channel
package: foo
name: stable
entries:
  # newest first
  - name: foo.v1.1.0
    replaces: foo.v1.0.0 # by hand
    skips: [foo.v1.0.1, "foo.v1.0.2"]
  # oldest
  - {name: foo.v1.0.0, skipRange: ">=0.1.0 <1.0.0"}
# tail
`;

function changed(text: string, index: number, edit: (blob: JsonObject) => JsonObject): { text: string; rewritten: readonly number[] } {
  const file = new CatalogText(text);
  return file.applyChanges(new Map([[index, { to: edit(structuredClone(file.documents[index]!.blob)) }]]));
}

interface Entry {
  name: string;
  replaces?: string;
  skips?: string[];
}
const entries = (blob: JsonObject): Entry[] => blob["entries"] as Entry[];

describe("CatalogText with YAML", () => {
  test("CatalogText preserves quotes and the trailing comment when a scalar changes", () => {
    expect(changed(YAML, 0, (blob) => ({ ...blob, defaultChannel: "it's" }))).toEqual({
      text: YAML.replace("'stable'", "'it''s'"),
      rewritten: [],
    });
  });

  test("CatalogText changes only the lines of added and removed fields and items", () => {
    const { text, rewritten } = changed(YAML, 1, (blob) => {
      const [first, second] = entries(blob) as [Entry, Entry];
      return {
        ...blob,
        entries: [
          { name: first.name, skips: ["foo.v1.0.2", "foo.v1.0.0"] },
          { ...second, replaces: "x" },
          { name: "foo.v1.2.0", replaces: "foo.v1.1.0" },
        ],
      };
    });
    expect(rewritten).toEqual([]);
    expect(text).toBe(
      YAML.replace("    replaces: foo.v1.0.0 # by hand\n", "")
        .replace('[foo.v1.0.1, "foo.v1.0.2"]', '["foo.v1.0.2", foo.v1.0.0]')
        .replace('<1.0.0"}', '<1.0.0", replaces: x}\n  - name: foo.v1.2.0\n    replaces: foo.v1.1.0'),
    );
  });

  test("CatalogText quotes a string with a comma when it is inside brackets", () => {
    const text = "schema: olm.channel\nentries: [{ name: a, replaces: b }] # c\n";
    const add = (blob: JsonObject): JsonObject => ({ ...blob, entries: [{ name: "a", replaces: "b,c" }] });
    expect(changed(text, 0, add)).toEqual({ text: text.replace("replaces: b", "replaces: 'b,c'"), rewritten: [] });
  });

  test("CatalogText does not indent added lists when the lists in the file are not indented", () => {
    const text = "schema: olm.channel\nentries:\n- name: a\n  skips:\n  - x\n- name: b\n";
    const wanted = "schema: olm.channel\nentries:\n- name: a\n  skips:\n  - x\n- name: b\n  skips:\n  - z\n- name: c\n";
    const add = (blob: JsonObject): JsonObject => ({ ...blob, entries: [entries(blob)[0], { name: "b", skips: ["z"] }, { name: "c" }] });
    expect(changed(text, 0, add).text).toBe(wanted);
  });

  test("CatalogText rewrites and reports an object when it cannot be edited in place", () => {
    const text = "schema: a\nx: &x {a: 1} # note\nb: *x\n---\nschema: b\n";
    const { text: got, rewritten } = changed(text, 0, (blob) => ({ ...blob, b: { a: 2 } }));
    expect(rewritten).toEqual([0]);
    expect(got).toBe("schema: a\nx:\n  a: 1\nb:\n  a: 2\n---\nschema: b\n");
  });
});

describe("CatalogText with JSON", () => {
  const pretty = `{\n    "schema": "olm.channel",\n    "entries": [\n        {\n            "name": "a"\n        }\n    ]\n}\n`;
  test("CatalogText keeps the indentation of multi-line JSON", () => {
    const { text, rewritten } = changed(pretty, 0, (blob) => ({
      ...blob,
      entries: [...entries(blob), { name: "b", skips: ["a", "c"] }],
    }));
    expect(rewritten).toEqual([]);
    expect(text).toBe(
      pretty.replace(
        "        }\n    ]",
        '        },\n        {\n            "name": "b",\n            "skips": [\n                "a",\n                "c"\n            ]\n        }\n    ]',
      ),
    );
  });

  test("CatalogText keeps single-line JSON on one line", () => {
    const line = '{"schema":"olm.channel","entries":[{"name":"a"}]}\n';
    expect(changed(line + line, 1, (blob) => ({ ...blob, entries: [{ name: "a", replaces: "b" }, { name: "b" }] })).text).toBe(
      `${line}{"schema":"olm.channel","entries":[{"name":"a","replaces":"b"},{"name":"b"}]}\n`,
    );
  });
});

describe("CatalogText with added and removed objects", () => {
  test("CatalogText appends objects in the style of the file", () => {
    expect(new CatalogText("a: 1\n").applyChanges(new Map(), [{ schema: "x" }]).text).toBe("a: 1\n---\nschema: x\n");
    expect(new CatalogText("a:\n- b\n").applyChanges(new Map(), [{ schema: "x", c: ["d"] }]).text).toBe(
      "a:\n- b\n---\nschema: x\nc:\n- d\n",
    );
    expect(new CatalogText("").applyChanges(new Map(), [{ schema: "x" }]).text).toBe("schema: x\n");
    expect(new CatalogText('{"a": 1}').applyChanges(new Map(), [{ schema: "x" }]).text).toBe('{"a": 1}\n{"schema":"x"}\n');
  });

  test("CatalogText removes an object and its separator", () => {
    const remove = (text: string, i: number): string => new CatalogText(text).applyChanges(new Map([[i, "removed"]])).text;
    expect(remove("a: 1\n---\nb: 2\n---\nc: 3\n", 1)).toBe("a: 1\n---\nc: 3\n");
    expect(remove("a: 1\n---\nb: 2\n", 1)).toBe("a: 1\n");
    expect(remove('{"a":1}\n{"b":2}\n', 0).trim()).toBe('{"b":2}');
  });
});

const text = fc.oneof(
  fc.constantFrom("a", "a,b", "1.10", "yes", "it's", '"', "# no", ": x", "", "two\nlines\n", " pad "),
  fc.string({ maxLength: 6 }),
);
const entry = fc.record(
  { name: text, replaces: text, skips: fc.array(text, { maxLength: 4 }), skipRange: text },
  { requiredKeys: ["name"] },
);
const channel = fc.record({
  schema: fc.constant("olm.channel"),
  package: fc.constant("foo"),
  name: text,
  entries: fc.uniqueArray(entry, { selector: ({ name }) => name, maxLength: 5 }),
});

describe("CatalogText with generated changes", () => {
  test("CatalogText changes one object and keeps the text of all other objects", () => {
    fc.assert(
      fc.property(channel, channel, fc.constantFrom("yaml", "json", "flow"), (before, after, form) => {
        const written = { yaml: yamlOf(before), json: JSON.stringify(before, null, 2), flow: JSON.stringify(before) }[form];
        const around = form === "yaml" ? (own: string) => `${YAML}---\n${own}---\n${YAML}` : (own: string) => `{"a":1}\n${own}\n{"b":2}\n`;
        const file = new CatalogText(around(written));
        const index = form === "yaml" ? 2 : 1;
        const result = file.applyChanges(new Map([[index, { to: after }]])).text;
        expect(new CatalogText(result).documents.map(({ blob }) => blob)).toEqual(
          file.documents.map(({ blob }, i) => (i === index ? after : blob)),
        );
        expect(result.startsWith(around("\0").split("\0")[0] ?? "")).toBe(true);
        expect(result.endsWith(around("\0").split("\0")[1] ?? "")).toBe(true);
      }),
    );
  });

  test("CatalogText keeps all comments outside the changed entry", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(30), { minLength: 2, maxLength: 8 }), fc.nat(), fc.nat(), (numbers, at, skip) => {
        const names = numbers.map((n) => `foo.v${n}`);
        const own = names.map((name) => `  # before ${name}\n  - name: ${name} # after ${name}\n    # inside ${name}\n    skips: [x]\n`);
        const source = `schema: olm.channel # first\nentries: # list\n${own.join("")}# last\n`;
        const touched = names[at % names.length];
        const { text: got, rewritten } = changed(source, 0, (blob) => ({
          ...blob,
          entries: entries(blob).flatMap((one) =>
            one.name !== touched ? [one] : skip % 2 ? [] : [{ ...one, skips: ["x", "y"], replaces: "z" }],
          ),
        }));
        expect(rewritten).toEqual([]);
        for (const comment of source.match(/# \w+( foo\.v\d+)?$/gm) ?? [])
          if (!comment.endsWith(` ${touched}`) || skip % 2 === 0) expect(got).toContain(`${comment}\n`);
      }),
    );
  });
});

/** Formats a channel in block style. */
function yamlOf({ entries: list, ...head }: { entries: Entry[]; [key: string]: unknown }): string {
  const lines = Object.entries(head).map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`);
  const items = list.map(({ name, ...rest }) => {
    const members = Object.entries(rest).map(([key, value]) => `    ${key}: ${JSON.stringify(value)} # ${key}\n`);
    return `  - name: ${JSON.stringify(name)}\n${members.join("")}`;
  });
  return `${lines.join("")}entries:${list.length === 0 ? " []" : ""}\n${items.join("")}`;
}

describe("CatalogText with CRLF line ends", () => {
  const crlf = (text: string): string => text.replaceAll("\n", "\r\n");

  test("CatalogText keeps CRLF when a YAML object changes in place", () => {
    const { text: got, rewritten } = changed(crlf(YAML), 1, (blob) => ({
      ...blob,
      name: "fast",
      entries: [entries(blob)[0], { name: "foo.v0.9.0", skips: ["foo.v0.8.0"] }],
    }));
    expect(rewritten).toEqual([]);
    const last = '  - {name: foo.v1.0.0, skipRange: ">=0.1.0 <1.0.0"}\n';
    const added = "  - name: foo.v0.9.0\n    skips:\n      - foo.v0.8.0\n";
    const want = YAML.replace("name: stable\n", "name: fast\n").replace(`  # oldest\n${last}`, `${added}  # oldest\n`);
    expect(got).toBe(crlf(want));
  });

  test("CatalogText keeps CRLF when JSON changes or objects are added", () => {
    const json = crlf('{\n  "schema": "a",\n  "entries": [\n    {"name": "b"}\n  ]\n}\n');
    const { text: got, rewritten } = new CatalogText(json).applyChanges(
      new Map([[0, { to: { schema: "a", entries: [{ name: "b" }, "c"] } }]]),
      [{ schema: "d" }],
    );
    expect(rewritten).toEqual([]);
    expect(got).toBe(crlf('{\n  "schema": "a",\n  "entries": [\n    {"name": "b"},\n    "c"\n  ]\n}\n{\n    "schema": "d"\n}\n'));
    expect(new CatalogText(crlf("a: 1\n")).applyChanges(new Map(), [{ schema: "x" }]).text).toBe(crlf("a: 1\n---\nschema: x\n"));
  });
});

test.for<[string, string]>([
  ["a tag", "schema: a\nx: !!str c # d\nb: 1\n"],
  ["an alias", "schema: a\nx: &x [y] # d\nz: *x\nb: 1\n"],
  ["a missing value", "schema: a\nx: # d\nb: 1\n"],
])("CatalogText rewrites an object when it has %s", ([, source]) => {
  const { text: got, rewritten } = changed(source, 0, (blob) => ({ ...blob, b: 2 }));
  expect(rewritten).toEqual([0]);
  expect(new CatalogText(got).documents[0]?.blob).toEqual({ ...new CatalogText(source).documents[0]?.blob, b: 2 });
});

test.for<[string, string, string]>([
  ["a block scalar before the value", "schema: a\nd: |+\n  text\n\n\nb: 1 # c\n", "schema: a\nd: |+\n  text\n\n\nb: 2 # c\n"],
  ["an explicit key", "schema: a\n? b\n: 1 # c\n", "schema: a\n? b\n: 2 # c\n"],
  ["tabs before the comment", "schema: a\nb:\t1\t# c\n", "schema: a\nb:\t2\t# c\n"],
  ["a byte order mark", "\ufeffschema: a\nb: 1 # c\n", "\ufeffschema: a\nb: 2 # c\n"],
])("CatalogText changes a value in place in an object with %s", ([, source, want]) => {
  expect(changed(source, 0, (blob) => ({ ...blob, b: 2 }))).toEqual({ text: want, rewritten: [] });
});
