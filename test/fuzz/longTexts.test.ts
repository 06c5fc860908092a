import { expect, test } from "vitest";
import { isAllowedBySchema } from "../../pkg/authoring/bundlecheck/ownedApiRules.ts";
import { readManifestObjects } from "../../pkg/bundle/load.ts";
import { normalizeQuantity } from "../../pkg/golang/quantity.ts";
import { isDenied, isDryRunUnsupported, isImmutableField, isRbacDenied, KubeError } from "../../pkg/kube/errors.ts";
import { parsePullReference } from "../../pkg/oci/reference.ts";
import { parseChallenges } from "../../pkg/oci/registry/tokens.ts";
import { toLabelValue } from "../../pkg/release/labels.ts";
import { redactSecrets } from "../../pkg/text/redact.ts";
import { parseRange } from "../../pkg/version/blang.ts";
import { parseConstraint } from "../../pkg/version/masterminds.ts";
import { parseVersion } from "../../pkg/version/version.ts";

/** A quadratic parser needs minutes for a text of this length. */
const LENGTH = 200_000;

const errorOf = (status: number, text: string): KubeError => new KubeError(text, { status, reason: "" });

/** Parsers of texts from bundles, catalogs, registries and API servers, with a text that could match at many positions. */
const READERS: readonly (readonly [what: string, read: (text: string) => unknown, start: string, unit: string, end: string])[] = [
  ["objects of a manifest", (text) => readManifestObjects("a.json", new TextEncoder().encode(text)), '{} {"a":', '1\\"_', "\n"],
  ["a quantity", normalizeQuantity, "", "1", "!"],
  ["a path into a schema", (text) => isAllowedBySchema({ type: "object" }, text), "a", ".[", "!"],
  ["a label", toLabelValue, "a", "_.", "\n"],
  ["a line of a log", redactSecrets, "a", " eyJeyJ", "\n"],
  ["a line of a log that is one word", redactSecrets, "w-", "eyJ", "\n"],
  ["a line of a log with URLs", redactSecrets, "", "://", "\n"],
  ["a version", parseVersion, "1.0.0-", "a-", "!"],
  ["a range of versions", parseConstraint, ">=1 ", " ", "!"],
  ["a range of a dependency", parseRange, ">=1.0.0 ", " ", "!"],
  ["a reference of an image", parsePullReference, "quay.io/", "a-", "!"],
  ["a login challenge of a registry", parseChallenges, "Bearer ", 'a="', "!"],
  ["an error about an immutable field", (text) => isImmutableField(errorOf(422, text)), "", "updates to  for fields other than ", "!"],
  ["an error about a permission", (text) => isRbacDenied(errorOf(403, text)), "", 'is forbidden: User "', "!"],
  ["an error of an admission policy", (text) => isDenied(errorOf(422, text)), "", "ValidatingAdmissionPolicy 'p' with binding '", "!"],
  ["an error about a dry run", (text) => isDryRunUnsupported(errorOf(400, text)), "", 'admission webhook "', "!"],
];

test.for(READERS)("%s is parsed in linear time", ([, read, start, unit, end]) => {
  const text = start + unit.repeat(LENGTH / unit.length) + end;
  let outcome: unknown;
  try {
    outcome = read(text);
  } catch (err) {
    outcome = err;
  }
  expect(outcome).toBeDefined();
});
