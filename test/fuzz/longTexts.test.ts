import { expect, test } from "vitest";
import { schemaAllows } from "../../pkg/authoring/bundlecheck/ownedApiRules.ts";
import { readManifestObjects } from "../../pkg/bundle/load.ts";
import { canonicalQuantity } from "../../pkg/golang/quantity.ts";
import { parsePullReference } from "../../pkg/oci/reference.ts";
import { parseChallenges } from "../../pkg/oci/registry/tokens.ts";
import { labelValue } from "../../pkg/release/labels.ts";
import { redactSecrets } from "../../pkg/text/redact.ts";
import { parseRange } from "../../pkg/version/blang.ts";
import { parseConstraint } from "../../pkg/version/masterminds.ts";
import { parseVersion } from "../../pkg/version/version.ts";

/** Whoever reads that from every place of it to its end is at it for minutes. */
const LENGTH = 200_000;

/** What reads texts of bundles, catalogs and registries, with a text that it takes for the beginning of something at many places. */
const READERS: readonly (readonly [what: string, read: (text: string) => unknown, start: string, unit: string, end: string])[] = [
  ["objects of a manifest", (text) => readManifestObjects("a.json", new TextEncoder().encode(text)), '{} {"a":', '1\\"_', "\n"],
  ["a quantity", canonicalQuantity, "", "1", "!"],
  ["a path into a schema", (text) => schemaAllows({ type: "object" }, text), "a", ".[", "!"],
  ["a label", labelValue, "a", "_.", "\n"],
  ["a line of a log", redactSecrets, "a", " eyJeyJ", "\n"],
  ["a line of a log that is one word", redactSecrets, "w-", "eyJ", "\n"],
  ["a line of a log with URLs", redactSecrets, "", "://", "\n"],
  ["a version", parseVersion, "1.0.0-", "a-", "!"],
  ["a range of versions", parseConstraint, ">=1 ", " ", "!"],
  ["a range of a dependency", parseRange, ">=1.0.0 ", " ", "!"],
  ["a reference of an image", parsePullReference, "quay.io/", "a-", "!"],
  ["what a registry wants to log in", parseChallenges, "Bearer ", 'a="', "!"],
];

test.for(READERS)("%s is read in one go, however long and odd it is", ([, read, start, unit, end]) => {
  const text = start + unit.repeat(LENGTH / unit.length) + end;
  let outcome: unknown;
  try {
    outcome = read(text);
  } catch (err) {
    outcome = err;
  }
  expect(outcome).toBeDefined();
});
