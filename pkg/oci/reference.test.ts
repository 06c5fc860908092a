import * as fc from "fast-check";
import { expect, test } from "vitest";
import references from "../../test/cases/oci/references.json" with { type: "json" };
import { TerminalError } from "../errors/errors.ts";
import { formatCanonical, formatFamiliarReference, formatReference, parsePullReference, parseReference } from "./reference.ts";

interface Case {
  input: string;
  error?: string;
  registry?: string;
  repository?: string;
  tag?: string;
  digest?: string;
  pullError?: string;
}

/** Returns the result of `work`, or the text of its terminal error. */
function outcome<T>(work: () => T): T | string {
  try {
    return work();
  } catch (err) {
    expect(err).toBeInstanceOf(TerminalError);
    return (err as Error).message;
  }
}

test.for(references.cases as Case[])("parseReference parses $input like the Go reference library", (want) => {
  const { input, error, pullError, registry, repository, tag, digest } = want;
  expect(outcome(() => parseReference(input))).toEqual(error ?? { registry, repository, tag, digest });
  expect(outcome(() => parsePullReference(input))).toEqual(error ?? pullError ?? { registry, repository, tag, digest });
});

test("parseReference accepts a host with an underscore, although the Go reference library does not", () => {
  expect(parseReference("foo_bar.com/a:1")).toMatchObject({ registry: "foo_bar.com", repository: "a", tag: "1" });
});

test.for([
  ["docker.io/library/busybox:1", "busybox:1"],
  ["docker.io/org/app:1", "org/app:1"],
  ["docker.io/library/a/b:1", "library/a/b:1"],
  ["quay.io/library/busybox:1", "quay.io/library/busybox:1"],
] as const)("formatFamiliarReference formats %s as %s", ([text, want]) => {
  expect(formatFamiliarReference(parseReference(text))).toBe(want);
});

test("the canonical reference drops the tag and keeps the name", () => {
  const digest = `sha256:${"a".repeat(64)}`;
  expect(formatCanonical(parseReference("quay.io/a/b:v1"), digest)).toBe(`quay.io/a/b@${digest}`);
});

test("a reference that parseReference accepts is unchanged when it is formatted", () => {
  const piece = fc.constantFrom(
    "a",
    "B",
    "0",
    ".",
    "-",
    "__",
    "/",
    ":",
    "@",
    "quay.io",
    "docker.io",
    "library",
    `sha256:${"f".repeat(64)}`,
    "é",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
      const text = `quay.io/${pieces.join("")}`;
      const ref = outcome(() => parseReference(text));
      if (typeof ref !== "string") expect(formatReference(ref)).toBe(text);
    }),
    { numRuns: 2000 },
  );
});

test.for([
  `quay.io/${"a-".repeat(50_000)}!`,
  `${"a.".repeat(50_000)}!/x`,
  `quay.io/x@${"a.".repeat(50_000)}`,
  `quay.io/${"a/".repeat(50_000)}!`,
])("parseReference rejects a long malformed text quickly", (text) => {
  const started = performance.now();
  expect(outcome(() => parseReference(text))).toContain("error parsing image reference");
  expect(performance.now() - started).toBeLessThan(1000);
});
