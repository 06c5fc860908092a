import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
/** Match code that depends on the text of an error or a condition. */
const DECISIONS = [
  /(?:\bmessage|getErrorMessage\([^()]*\))\.(?:includes|startsWith|endsWith|match|matchAll|search|indexOf|split)\((?!"\\n")/,
  /\.(?:test|exec)\((?:\w+\.)*(?:message|reason)\)/,
  /\.(?:test|exec)\(getErrorMessage\(/,
  /\.(?:includes|startsWith|endsWith)\((?:\w+\.)*message\)/,
];
/** Allowed uses: the text comes from another program that provides nothing else, or the code only prints it. */
const ARGUED: Readonly<Record<string, string>> = {
  "pkg/kube/errors.ts": "the API server has no code for denials by RBAC, admission and quota, for immutable fields, and for dry runs",
  "pkg/oci/registry/networkError.ts": "OpenSSL has one code for all protocol errors",
  "pkg/authoring/template/strictYaml.ts": "js-yaml has no code for a repeated key",
  "pkg/devcluster/devCluster.ts": "etcd reports a port in use in its log only",
  "pkg/catalogd/status.ts": "marks the innermost terminal error in the message, as Go does",
  "cmd/olmv1/cli/errors.ts": "does not print twice what the message contains",
};

function deciding(text: string): string[] {
  return text.split("\n").filter((line) => DECISIONS.some((pattern) => pattern.test(line)));
}

test("no code makes decisions based on message text, except in the files that ARGUED lists", () => {
  const files = globSync("{cmd,pkg}/**/*.ts", { cwd: ROOT }).filter((file) => !file.endsWith(".test.ts"));
  expect(files.length).toBeGreaterThan(500);
  const found = files.filter((file) => deciding(readFileSync(join(ROOT, file), "utf8")).length > 0);
  expect(found.sort()).toEqual(Object.keys(ARGUED).sort());
});

test.for([
  'if (err.message.includes("not found")) return;',
  'if (getErrorMessage(err).startsWith("cannot")) return;',
  "return QUOTA.test(message);",
  "const [, name] = NAME.exec(err.message) ?? [];",
  "if (text.endsWith(cause.message)) return;",
])("deciding returns the line that makes a decision based on message text: %s", (line) => {
  expect(deciding(line)).toEqual([line]);
});

test.for(['const [first] = message.split("\\n");', "log.info({ message });", "return PATTERN.test(text);"])(
  "deciding returns nothing for a line that makes no decision based on message text: %s",
  (line) => {
    expect(deciding(line)).toEqual([]);
  },
);
