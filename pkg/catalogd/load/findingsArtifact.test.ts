import { expect, test } from "vitest";
import { toMeta } from "../../fbc/content.ts";
import type { ArtifactLine } from "./artifacts.ts";
import { FindingsArtifact } from "./findingsArtifact.ts";

/**
 * Adds metas with a reserved schema (one warning each) and deprecations without a package (one
 * error each).
 */
function filled(artifact: FindingsArtifact, { warnings, errors }: { warnings: number; errors: number }): ArtifactLine[] {
  const place = (document: number) => ({ file: "catalog.json", document });
  for (let i = 0; i < warnings; i++) artifact.add({ ...toMeta({ schema: "olm.other", name: `w${i}` }), place: place(i + 1) });
  const entries = [{ reference: { schema: "olm.package" }, message: "x" }];
  for (let i = 0; i < errors; i++) artifact.add({ ...toMeta({ schema: "olm.deprecations", entries }), place: place(warnings + i + 1) });
  const lines: ArtifactLine[] = [];
  artifact.end((line) => lines.push(line));
  return lines;
}

test("findings artifact lists errors first, and its summary contains the first ten findings as text", () => {
  const artifact = new FindingsArtifact("Warn");
  const lines = filled(artifact, { warnings: 20, errors: 2 });
  expect(lines).toHaveLength(22);
  expect(lines.slice(0, 3).map(({ value }) => (value as { severity: string }).severity)).toEqual(["error", "error", "warning"]);
  const { errors, warnings, first } = artifact.summary;
  expect([errors, warnings, first.length]).toEqual([2, 20, 10]);
  expect(first[0]).toBe("error: catalog.json: document 21: olm.deprecations: package name must be set for deprecation item 0");
  expect(first[2]).toBe(
    'warning: catalog.json: document 1: olm.other "w0": schema "olm.other" is not defined by OLM; the prefix olm. is reserved',
  );
});

test("findings artifact has at most 1000 lines, and its summary contains the number of all findings", () => {
  const artifact = new FindingsArtifact("Warn");
  expect(filled(artifact, { warnings: 1_500, errors: 10 })).toHaveLength(1_000);
  expect(artifact.summary).toMatchObject({ errors: 10, warnings: 1_500 });
});

test("findings artifact rejects the catalog for errors, but not for warnings, when validation is Strict", () => {
  expect(filled(new FindingsArtifact("Strict"), { warnings: 2, errors: 0 })).toHaveLength(2);
  expect(() => filled(new FindingsArtifact("Strict"), { warnings: 2, errors: 1 })).toThrow(
    /^1 error in the catalog, but --catalog-validation=Strict allows none: error: catalog\.json: document 3: [^;]*$/,
  );
  expect(() => filled(new FindingsArtifact("Strict"), { warnings: 0, errors: 5 })).toThrow(/; and 2 more$/);
});

test("findings artifact rejects an invalid object immediately, and reports the position and name of the object", () => {
  const meta = {
    ...toMeta({ schema: "olm.bundle", package: "foo", name: "foo.v1", properties: 1 }),
    place: { file: "a.yaml", document: 2, line: 7 },
  };
  expect(() => new FindingsArtifact("Warn").add(meta)).toThrow(
    'a.yaml: document 2, line 7: olm.bundle "foo.v1" of package "foo": properties: expected a list, got a number: 1',
  );
});
