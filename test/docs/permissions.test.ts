import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { ROOT } from "./page.ts";

/** Files with the permissions of the servers. */
const FILES = [
  "config/rbac/catalogd.yaml",
  "config/rbac/metrics.yaml",
  "config/rbac/operator-controller.yaml",
  "config/rbac/permission-manager.yaml",
  "config/openshift/image-policies.yaml",
  "config/openshift/pull-secret.yaml",
  "config/openshift/registries.yaml",
  "config/openshift/tls-profile.yaml",
];

interface Role {
  readonly kind: string;
  readonly metadata: { readonly namespace?: string };
  readonly rules?: readonly { readonly resources?: readonly string[] }[];
}

/** Returns a resource as its kind in lower case, such as imagepolicy. */
function toKind(resource: string): string {
  return resource.replace(/ies$/, "y").replace(/s$/, "");
}

test("security.md lists every resource that a role of the servers contains", () => {
  const page = readFileSync(join(ROOT, "docs/security.md"), "utf8");
  const [, section = ""] = /\n## Permissions of the servers\n([^]*?)\n## /.exec(page) ?? [];
  const words = new Set((section.match(/[A-Za-z]+/g) ?? []).map((word) => toKind(word.toLowerCase())));
  const granted = FILES.flatMap((file) =>
    (parseYamlDocuments(readFileSync(join(ROOT, file), "utf8")) as Role[]).flatMap(({ kind, rules = [] }) =>
      kind.endsWith("Role") ? rules.flatMap(({ resources = [] }) => resources) : [],
    ),
  ).map((resource) => resource.split("/"));
  expect(granted.length).toBeGreaterThan(40);
  const missing = granted.flatMap(([resource = "", part]) => [toKind(resource), ...(part === undefined ? [] : [toKind(part)])]);
  expect([...new Set(missing)].filter((word) => !words.has(word))).toEqual([]);
});

test("the servers write Events only in their namespace and in default", () => {
  const roles = FILES.flatMap((file) => parseYamlDocuments(readFileSync(join(ROOT, file), "utf8")) as Role[]);
  const recording = roles.filter(({ rules = [] }) => rules.some(({ resources = [] }) => resources.includes("events")));
  expect(new Set(recording.map(({ metadata }) => metadata.namespace))).toEqual(new Set(["olmv1-system", "default"]));
});
