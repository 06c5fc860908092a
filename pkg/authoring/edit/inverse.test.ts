import * as fc from "fast-check";
import { expect, test } from "vitest";
import { setDefaultChannel } from "./channelEdits.ts";
import { deprecate, removeDeprecation } from "./deprecate.ts";
import { addEdge, removeEdge, setSkipRange } from "./edgeEdits.ts";
import { applyEdit, type CatalogFiles, editCatalog, type PackageEdit } from "./packageEdit.ts";

/** The style of a catalog file. */
interface Form {
  readonly indent: string;
  readonly quote: string;
  readonly isFlow: boolean;
  readonly comments: readonly boolean[];
  readonly isOpen: boolean;
  readonly versions: number;
}

const form: fc.Arbitrary<Form> = fc.record({
  indent: fc.constantFrom("", "  ", "    "),
  quote: fc.constantFrom("", '"', "'"),
  isFlow: fc.boolean(),
  comments: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
  isOpen: fc.boolean(),
  versions: fc.integer({ min: 3, max: 6 }),
});

const nameOf = (patch: number): string => `foo.v1.0.${patch}`;

/** Returns a catalog of one package with channels stable and beta. Each version replaces the previous one. */
function catalogIn({ indent, quote, isFlow, comments, isOpen, versions }: Form): CatalogFiles {
  const quoted = (text: string): string => `${quote}${text}${quote}`;
  const remark = (at: number, text: string): string => (comments[at] ? text : "");
  const numbers = Array.from({ length: versions }, (_, i) => i);
  const entry = (i: number): string =>
    isFlow
      ? `${indent}- { name: ${quoted(nameOf(i))}${i > 0 ? `, replaces: ${quoted(nameOf(i - 1))}` : ""} }${remark(0, ` # entry ${i}`)}\n`
      : `${remark(1, `${indent}# before ${i}\n`)}${indent}- name: ${quoted(nameOf(i))}${remark(0, " # first")}\n${i > 0 ? `${indent}  replaces: ${quoted(nameOf(i - 1))}\n` : ""}`;
  const channel = (name: string): string =>
    `schema: olm.channel\npackage: foo\n${remark(2, "# of the channel\n")}name: ${name}\nentries:\n${numbers.map(entry).join("")}`;
  const bundle = (i: number): string =>
    `schema: olm.bundle\npackage: foo\nname: ${nameOf(i)}\nimage: quay.io/example/foo:v${i}\nproperties:\n- type: olm.package\n  value: {packageName: foo, version: 1.0.${i}}\n`;
  const head = `${remark(3, "# the package\n")}schema: olm.package\nname: foo\ndefaultChannel: ${quoted("stable")}${remark(2, " # for most")}\n`;
  const text = [head, channel("stable"), channel("beta"), ...numbers.map(bundle)].join("---\n");
  return new Map([["foo/catalog.yaml", isOpen ? text.trimEnd() : text]]);
}

type Change = (edit: PackageEdit) => void;
const last = ({ versions }: Form): string => nameOf(versions - 1);
const BUNDLE = { schema: "olm.bundle", name: nameOf(1) } as const;

const PAIRS: Record<string, (form: Form) => [Change, Change]> = {
  "adding and removing a deprecation": () => [
    (edit) => deprecate(edit, BUNDLE, "Do not: use # it"),
    (edit) => removeDeprecation(edit, BUNDLE),
  ],
  "changing the default channel and back": () => [(edit) => setDefaultChannel(edit, "beta"), (edit) => setDefaultChannel(edit, "stable")],
  "adding and removing a skip": (of) => [
    (edit) => addEdge(edit, { from: nameOf(0), to: last(of) }, "skips"),
    (edit) => removeEdge(edit, { from: nameOf(0), to: last(of) }),
  ],
  "adding and removing a skipRange": (of) => [
    (edit) => setSkipRange(edit, last(of), ">=0.1.0 <1.0.0", "stable"),
    (edit) => setSkipRange(edit, last(of), undefined, "stable"),
  ],
};

/** Adds the final line break, because an appended document requires it. */
const ended = (files: CatalogFiles): string[] => [...files.values()].map((text) => (text.endsWith("\n") ? text : `${text}\n`));

test.for(Object.keys(PAIRS))("%s restores every byte of the catalog except a final line break", (name) => {
  fc.assert(
    fc.property(form, (of) => {
      const files = catalogIn(of);
      const [there, back] = PAIRS[name]?.(of) ?? [];
      if (!there || !back) throw new Error("no such pair");
      const changed = applyEdit(files, editCatalog(files, "foo", there));
      expect(changed).not.toEqual(files);
      for (const comment of [...files.values()].join("").match(/# .*/g) ?? []) expect([...changed.values()].join("")).toContain(comment);
      expect(ended(applyEdit(changed, editCatalog(changed, "foo", back)))).toEqual(ended(files));
    }),
    { numRuns: 40 },
  );
});
