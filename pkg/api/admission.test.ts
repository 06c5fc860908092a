import { expect, test } from "vitest";
import { admissionCases } from "../../test/support/admissionCases.ts";
import { ClusterCatalog } from "./clusterCatalog.ts";
import { ClusterExtension } from "./clusterExtension.ts";

const schemas = { ClusterExtension, ClusterCatalog };
/** Errors whose text comes from the API server, not from a rule: a path, or a path and a text. */
const SERVER_TEXT = /^[\w.[\]]+(: |$)| in body /;
/** Excludes cases that need the old object, which only the API server has. */
const cases = admissionCases().filter(({ on, serverOnly }) => on !== "update" && !serverOnly);

test.for(cases)("the zod schema decides like the API server: $title", ({ kind, after, errors, path, want }) => {
  const result = schemas[kind].safeParse(after);
  expect(result.success, result.error?.message).toBe(errors.length === 0);
  const messages = result.error?.issues.map(({ message }) => message) ?? [];
  const rules = errors.filter((error) => !SERVER_TEXT.test(error));
  for (const rule of rules) expect(messages).toContainEqual(expect.stringContaining(rule));
  if (want === undefined || !result.success) return;
  const found = path.reduce((at: unknown, member) => (at as Record<string, unknown> | undefined)?.[member], result.data);
  if (want === null) expect(found).toBeUndefined();
  else if (typeof want === "object") expect(found).toMatchObject(want);
  else expect(found).toEqual(want);
});
