import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { parseReference } from "../reference.ts";
import { FormatError } from "../signers/strictJson.ts";
import { findApplicable } from "./applicable.ts";
import { INSECURE_POLICY, listUnsupportedScopes, type Policy, type PolicyRequirement, parsePolicy } from "./policyFile.ts";
import { matchesIdentity, parseSignedIdentity } from "./signedIdentity.ts";

interface ParseCase extends CaseHead {
  policy: string;
  error?: string;
  default?: string[];
  docker?: Record<string, string[]>;
}
interface ScopeCase extends CaseHead {
  ref: string;
  scopes: string[];
  want: string;
}
interface IdentityCase extends CaseHead {
  identity: object;
  cases: { image: string; signed?: string; want: boolean }[];
}

const cases = loadCases<CaseHead>("signature-policy");
const having = <T extends CaseHead>(member: keyof T & string): T[] => cases.filter((one): one is T => member in one);
const DIGEST = `sha256:${"e".repeat(64)}`;

function shown(requirements: readonly PolicyRequirement[]): string[] {
  return requirements.map((requirement) => (requirement.type === "unsupported" ? requirement.what : requirement.type));
}

test.for(having<ParseCase>("policy"))("$name", ({ policy: text, error, default: byDefault, docker = {} }) => {
  if (error !== undefined) return expect(() => parsePolicy(text)).toThrow(new FormatError(error));
  const policy = parsePolicy(text);
  expect(shown(policy.default)).toEqual(byDefault);
  return expect(Object.fromEntries([...policy.docker].map(([scope, requirements]) => [scope, shown(requirements)]))).toEqual(docker);
});

test.for(having<ScopeCase>("scopes"))("$name", ({ ref, scopes, want }) => {
  const policy: Policy = {
    default: [{ type: "reject" }],
    docker: new Map(scopes.map((scope) => [scope, [{ type: "unsupported", what: scope }]])),
    layouts: INSECURE_POLICY.layouts,
  };
  const { scope, requirements } = findApplicable(policy, parseReference(ref));
  expect(scope ?? "default").toBe(want);
  expect(shown(requirements)).toEqual([want === "default" ? "reject" : want]);
});

test.for(having<IdentityCase>("identity"))("$name", ({ identity, cases: rows }) => {
  const rule = parseSignedIdentity(identity);
  const filled = (text: string): string => text.replace("DIGEST", DIGEST);
  const got = rows.map(({ image, signed }) => matchesIdentity(rule, parseReference(filled(image)), signed && filled(signed)));
  expect(got).toEqual(rows.map(({ want }) => want));
});

test("every test case contains a policy, scopes, an identity, a signature or a bundle, but only one of these", () => {
  const kinds = ["policy", "scopes", "identity", "signature", "bundle"].map((member) => cases.filter((one) => member in one));
  expect(kinds.flat()).toHaveLength(cases.length);
  for (const kind of kinds) expect(kind.length).toBeGreaterThan(0);
});

test.for<[scope: string, ref: string]>([
  ["quay.io/ns", "QUAY.IO/ns/app:v1"],
  ["quay.io/ns", "quay.io:443/ns/app:v1"],
  ["Quay.io/ns", "quay.io/ns/app:v1"],
  ["quay.io:443", "quay.io/ns/app:v1"],
  ["*.io", "QUAY.IO:443/ns/app:v1"],
  [`QUAY.io/ns/app@${DIGEST}`, `quay.io/ns/app@${DIGEST}`],
])("findApplicable uses scope %s when the image is %s", ([scope, ref]) => {
  const accept = [{ type: "insecureAcceptAnything" }];
  const policy = parsePolicy(JSON.stringify({ default: accept, transports: { docker: { [scope]: [{ type: "reject" }] } } }));
  expect(shown(findApplicable(policy, parseReference(ref)).requirements)).toEqual(["reject"]);
});

test("parsePolicy requires all of one scope when it is spelled in several ways", () => {
  const docker = { "QUAY.io": [{ type: "insecureAcceptAnything" }], "quay.io:443": [{ type: "reject" }] };
  const policy = parsePolicy(JSON.stringify({ default: [{ type: "reject" }], transports: { docker } }));
  expect([...policy.docker].map(([scope, requirements]) => [scope, shown(requirements)])).toEqual([
    ["quay.io", ["insecureAcceptAnything", "reject"]],
  ]);
});

test("listUnsupportedScopes reports scopes with their unsupported requirements", () => {
  const gpg = [{ type: "signedBy", keyType: "GPGKeys", keyPath: "/key" }];
  const text = JSON.stringify({ default: gpg, transports: { docker: { "quay.io": [{ type: "reject" }], "a.example.com": gpg } } });
  expect(listUnsupportedScopes(parsePolicy(text))).toEqual({ default: '"signedBy"', "a.example.com": '"signedBy"' });
});
