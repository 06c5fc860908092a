import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseYaml } from "../pkg/golang/yaml.ts";
import { DEVELOPMENT_LICENSES } from "./licenses.ts";
import { ROOT } from "./project.ts";

const FILES = globSync(".github/{workflows,actions/*}/*.{yaml,yml}", { cwd: ROOT }).toSorted();
const readText = (file: string): string => readFileSync(join(ROOT, file), "utf8");
const WORKFLOWS = FILES.filter((file) => file.startsWith(".github/workflows/"));

test.for(FILES)("%s refers to each action by the digest of a commit and names its version", (file) => {
  const used = [...readText(file).matchAll(/\buses: (.*)$/gm)].map(([, action = ""]) => action);
  expect(used.filter((action) => !action.startsWith("./") && !/^[\w-]+(\/[\w-]+)+@[0-9a-f]{40} # v\d+(\.\d+)*$/.test(action))).toEqual([]);
});

test.for(WORKFLOWS)("%s can only read by default, and never keeps the credentials of the checkout", (file) => {
  const { permissions } = parseYaml(readText(file)) as { permissions: unknown };
  expect(permissions).toSatisfy((value) => value === "read-all" || JSON.stringify(value) === '{"contents":"read"}');
  const checkouts = readText(file).split("actions/checkout@").slice(1);
  expect(checkouts.filter((text) => !/^.*\n\s+with:\n(\s{10,}.*\n)*?\s+persist-credentials: false\n/.test(text))).toEqual([]);
});

/** A job of a workflow. */
interface Job {
  readonly environment?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}
interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly with?: Readonly<Record<string, unknown>>;
}

const readJobs = (file: string): Readonly<Record<string, Job>> => (parseYaml(readText(file)) as { jobs: Record<string, Job> }).jobs;

test.for(WORKFLOWS)("%s uses the browser of GitHub's runners for tests, and installs no packages of Debian", (file) => {
  expect(readText(file)).not.toContain("apt-get");
  for (const { steps } of Object.values(readJobs(file))) {
    const runs = steps.map(({ run = "" }) => run);
    const tests = runs.findIndex((run) => run.includes(".ci/run") || run === "${{ matrix.command }}");
    if (tests >= 0) expect(runs.slice(0, tests)).toContain("command -v chromium");
  }
});

test("the dependency review accepts the same licenses as the check of the lockfile", () => {
  const [, list = ""] = /allow-licenses: (.*)$/m.exec(readText(".github/workflows/dependency-review.yaml")) ?? [];
  expect(list.split(", ").toSorted()).toEqual([...DEVELOPMENT_LICENSES].toSorted());
});

test("the release workflow runs only commands that release/main.ts has, and publishes only in its protected environment", () => {
  const text = readText(".github/workflows/release.yaml");
  const usage = readText("release/main.ts");
  const commands = [...text.matchAll(/node release\/main\.ts ([\w-]+)/g)].map(([, command = ""]) => command);
  expect(new Set(commands)).toEqual(new Set(["tag", "executable", "artifacts", "indexes", "publish-chart"]));
  expect(commands.filter((command) => !usage.includes(`\n  ${command} `))).toEqual([]);
  const { jobs } = parseYaml(text) as { jobs: Record<string, { environment?: string; permissions?: Record<string, string> }> };
  const writing = Object.entries(jobs).filter(([, { permissions = {} }]) =>
    ["contents", "packages"].some((one) => permissions[one] === "write"),
  );
  expect(writing.map(([name, { environment }]) => [name, environment])).toEqual([
    ["image", "release"],
    ["publish", "release"],
  ]);
});

test("the base images of the Dockerfile are pinned by digest", () => {
  const bases = [...readText("Dockerfile").matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm)].map(([, base = ""]) => base);
  expect(bases.length).toBe(2);
  expect(bases.filter((base) => !/^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/.test(base))).toEqual([]);
});
