import { execFile, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { parseYaml } from "../pkg/golang/yaml.ts";
import { DEVELOPMENT_LICENSES } from "./licenses.ts";
import { readPinnedNode } from "./nodeJs.ts";
import { ROOT } from "./project.ts";

const FILES = globSync(".github/{workflows,actions/*}/*.{yaml,yml}", { cwd: ROOT }).toSorted();
const readText = (file: string): string => readFileSync(join(ROOT, file), "utf8");
const PINNED_IMAGE = /^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/;
const RELEASE = ".github/workflows/release.yaml";
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
  readonly id?: string;
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly with?: Readonly<Record<string, string | number | boolean>>;
}

/** Returns the values of an input in the steps that set it. */
const listInputs = (steps: readonly Step[], name: string): string[] => steps.flatMap((step) => step.with?.[name] ?? []).map(String);

const readJobs = (file: string): Readonly<Record<string, Job>> => (parseYaml(readText(file)) as { jobs: Record<string, Job> }).jobs;

test.for(WORKFLOWS)("%s uses the browser of GitHub's runners for tests, and installs no packages of Debian", (file) => {
  expect(readText(file)).not.toContain("apt-get");
  for (const { steps } of Object.values(readJobs(file))) {
    const runs = steps.map(({ run = "" }) => run);
    const tests = runs.findIndex((run) => run.includes(".ci/run") || run === "${{ matrix.command }}");
    if (tests >= 0) expect(runs.slice(0, tests)).toContain("command -v chromium");
  }
});

test.for(FILES)(
  "%s caches control planes by their sources and by the release of Go, because only builds by the same release are used",
  (file) => {
    const { jobs, runs } = parseYaml(readText(file)) as { jobs?: Record<string, Job>; runs?: Job };
    for (const { steps } of [...Object.values(jobs ?? {}), ...(runs ? [runs] : [])]) {
      const cache = steps.findIndex((step) => String(step.with?.["path"]).startsWith("~/.cache/olmv1"));
      if (cache < 0) continue;
      const before = steps.slice(0, cache);
      expect(before.find(({ id }) => id === "go")?.uses).toMatch(/^actions\/setup-go@/);
      for (const key of [...listInputs(steps.slice(cache), "key"), ...listInputs(steps.slice(cache), "restore-keys")]) {
        expect(key).toContain("-${{ steps.go.outputs.go-version }}-");
        expect(key).toMatch(/\$\{\{ (?:steps\.sources\.outputs\.hash|hashFiles\('pkg\/devcluster\/controlplane\/\*\*'\)) \}\}/);
      }
    }
  },
);

test.skipIf(spawnSync("shasum", ["--version"]).status !== 0)(
  "try-bundle computes the hash of the sources of the control plane",
  async () => {
    const file = ".github/actions/try-bundle/action.yml";
    const { runs } = parseYaml(readText(file)) as { runs: Job };
    const run = runs.steps.find(({ id }) => id === "sources")?.run ?? "";
    const folder = await mkdtemp(join(tmpdir(), "olmv1-action-"));
    try {
      const output = join(folder, "output");
      const env = { ...process.env, GITHUB_ACTION_PATH: join(ROOT, file, ".."), GITHUB_OUTPUT: output };
      await promisify(execFile)("bash", ["-e", "-c", run], { cwd: folder, env });
      const nothing = createHash("sha256").digest("hex");
      expect(await readFile(output, "utf8")).toMatch(new RegExp(`^hash=(?!${nothing})[0-9a-f]{64}\n$`));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);

test("the dependency review checks all packages, and accepts the same licenses as the check of the lockfile", () => {
  const [, list = ""] = /allow-licenses: (.*)$/m.exec(readText(".github/workflows/dependency-review.yaml")) ?? [];
  expect(list.split(", ").toSorted()).toEqual([...DEVELOPMENT_LICENSES].toSorted());
  expect(readText(".github/workflows/dependency-review.yaml")).toContain("fail-on-scopes: runtime, development\n");
});

test.for([
  ["main", ["tag", "executable", "artifacts", "indexes"]],
  ["publish", ["plan", "chart"]],
] as const)("the release workflow runs only commands that release/%s.ts has", ([program, used]) => {
  const text = readText(RELEASE);
  const commands = [...text.matchAll(/node release\/(\w+)\.ts ([\w-]+)/g)].flatMap(([, name, command]) =>
    name === program ? [command] : [],
  );
  expect(new Set(commands)).toEqual(new Set(used));
  const usage = readText(`release/${program}.ts`);
  expect(commands.filter((command) => !usage.includes(`\n  ${command} `))).toEqual([]);
});

test("the release workflow writes and signs only in its protected environment, without scripts of npm packages", () => {
  const privileged = Object.entries(readJobs(RELEASE)).filter(([, { permissions = {} }]) => Object.values(permissions).includes("write"));
  expect(privileged.map(([name, { environment }]) => [name, environment])).toEqual([
    ["image", "release"],
    ["sign", "release"],
    ["publish", "release"],
  ]);
  for (const [name, { steps }] of privileged) {
    const installs = steps.flatMap(({ run = "" }) => run.match(/npm (?:ci|install|i|run|test|start|exec)\b.*|npx .*/g) ?? []);
    expect(installs).toEqual(name === "publish" ? ["npm ci --omit=dev --ignore-scripts"] : []);
  }
});

test("the release workflow publishes the release on GitHub last, and in npm only with the planned tag", () => {
  const steps = readJobs(RELEASE)["publish"]?.steps ?? [];
  const runs = steps.flatMap(({ run = "" }) => /gh release \w+|npm publish|publish\.ts \w+|imagetools create/.exec(run)?.[0] ?? []);
  expect(runs).toEqual(["publish.ts plan", "imagetools create", "publish.ts chart", "gh release view", "npm publish", "gh release edit"]);
  const [npm, edit] = steps.slice(-2);
  expect(npm).toMatchObject({ if: "steps.plan.outputs.npm-tag != ''", env: { TAG: "${{ steps.plan.outputs.npm-tag }}" } });
  expect(npm?.run).toContain('--tag "$TAG"');
  expect(edit).toMatchObject({
    run: 'gh release edit "$GITHUB_REF_NAME" --draft=false $FLAGS',
    env: { FLAGS: "${{ steps.plan.outputs.flags }}" },
  });
});

test("the documentation is built after a release on the default branch, which its environment accepts, only from the sources of main", () => {
  const text = readText(".github/workflows/docs.yaml");
  const { true: on, jobs } = parseYaml(text) as { true: object; jobs: Record<string, Job & { if?: string }> }; // "on" is true in YAML 1.1
  const { name } = parseYaml(readText(RELEASE)) as { name: string };
  expect(on).toEqual({ push: { branches: ["main"] }, workflow_run: { workflows: [name], types: ["completed"] } });
  expect(jobs["build"]?.if).toContain("github.event.workflow_run.conclusion == 'success'");
  const checkouts = jobs["build"]?.steps.filter(({ uses = "" }) => uses.startsWith("actions/checkout@")) ?? [];
  expect(checkouts.map((step) => step.with?.["ref"])).toEqual(["main"]);
});

/** Returns the modules that a file imports, also indirectly: paths in the repository, and names of packages. */
function listImports(file: string, found: Set<string> = new Set()): Set<string> {
  for (const [, path = ""] of readText(file).matchAll(/^(?:import|export) (?!type )(?:[^;"]* from )?"([^"]+)";$/gm)) {
    const module = path.startsWith(".") ? join(file, "..", path) : path;
    if (found.has(module)) continue;
    found.add(module);
    if (path.startsWith(".")) listImports(module, found);
  }
  return found;
}

test("the job that publishes imports only runtime dependencies, because it installs no others", () => {
  const packages = [...listImports("release/publish.ts")].filter((module) => !module.endsWith(".ts") && !module.startsWith("node:"));
  expect(packages.length).toBeGreaterThan(0);
  const { dependencies } = JSON.parse(readText("package.json")) as { dependencies: Record<string, string> };
  const names = packages.map((path) => path.split("/", path.startsWith("@") ? 2 : 1).join("/"));
  expect(names.filter((name) => !Object.hasOwn(dependencies, name))).toEqual([]);
});

/**
 * Writes its arguments to $LOG, prints $INDEX for imagetools, and like Docker keeps only one platform under a digest. The image contains
 * Node.js $NODE, and a bill of materials with Node.js 24.0.0.
 */
const DOCKER = `#!/bin/sh
echo "$*" >> "$LOG"
case "$1" in
  buildx) echo "$INDEX" ;;
  cp) echo '{ "components": [{ "name": "node", "version": "24.0.0" }] }' > "\${2##*/}" ;;
  run | create)
    platform=; digest=
    while [ $# -gt 0 ]; do
      case "$1" in --platform) platform=$2 ;; *@sha256:*) digest=\${1##*@} ;; --version) echo "v$NODE" ;; esac
      shift
    done
    kept=$(sed -n "s|^$digest ||p" "$LOG.kept" 2>/dev/null | head -n 1)
    if [ -n "$kept" ] && [ "$kept" != "$platform" ]; then echo "cannot overwrite digest $digest" >&2; exit 1; fi
    echo "$digest $platform" >> "$LOG.kept" ;;
esac
`;

/** Runs a step of the release workflow in an empty folder with one program in place of the real one, and returns the lines of its $LOG. */
async function runStep(
  job: string,
  step: string,
  program: readonly [name: string, script: string],
  env: NodeJS.ProcessEnv,
): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "olmv1-workflow-"));
  try {
    const [name, script] = program;
    await writeFile(join(folder, name), script);
    await chmod(join(folder, name), 0o755);
    const run = readJobs(RELEASE)[job]?.steps.find((one) => one.name === step)?.run;
    if (run === undefined) throw new Error(`job ${job} has no step ${step}`);
    const path = [folder, process.env["PATH"]].join(delimiter);
    const { env: shared } = parseYaml(readText(RELEASE)) as { env: Record<string, string> };
    await promisify(execFile)("bash", ["-e", "-c", run], { cwd: folder, env: { ...shared, ...env, PATH: path, LOG: join(folder, "log") } });
    return (await readFile(join(folder, "log"), "utf8")).trimEnd().split("\n");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs the step that starts the programs, with the platforms in an index, and returns the commands of docker. */
function startPrograms(platforms: readonly string[], node = "24.0.0"): Promise<string[]> {
  const manifests = platforms.map((platform, i) => {
    const [os, architecture] = platform.split("/");
    return { digest: `sha256:${String(i).repeat(64)}`, platform: { os, architecture } };
  });
  const env = { DIGEST: `sha256:${"f".repeat(64)}`, INDEX: JSON.stringify({ manifests }), NODE: node };
  return runStep("image", "start the programs on each platform", ["docker", DOCKER], env);
}

/** Writes its arguments to $LOG. Command `view` prints whether the release is a draft, and fails if it does not exist. */
const GH = `#!/bin/sh
echo "$*" >> "$LOG"
[ "$2" != view ] || { [ -n "$IS_DRAFT" ] && echo "$IS_DRAFT"; }
`;

test.for([
  ["creates a draft when no release exists", "", ["view", "create"]],
  ["completes the draft of an earlier run", "true", ["view", "upload"]],
  ["keeps a release that an earlier run published", "false", ["view"]],
] as const)("the release workflow %s", async ([, isDraft, commands]) => {
  const lines = await runStep("publish", "draft the release", ["gh", GH], { IS_DRAFT: isDraft, GITHUB_REF_NAME: "v1.0.0" });
  expect(lines.map((line) => line.split(" ").slice(0, 3).join(" "))).toEqual(commands.map((command) => `release ${command} v1.0.0`));
  expect(lines.filter((line) => line.startsWith("release create") && !line.includes(" --draft --verify-tag "))).toEqual([]);
});

describe.skipIf(spawnSync("jq", ["--version"]).status !== 0)("the release workflow", () => {
  const PLATFORMS = ["linux/amd64", "linux/arm64", "linux/ppc64le", "linux/s390x"];

  test("starts four programs on each platform, by the digest of the platform, and then asks for the version of Node.js", async () => {
    const commands = await startPrograms(PLATFORMS);
    expect(commands.filter((command) => command.startsWith("run")).length).toBe(17);
    const image = "ghcr.io/olmv1/olmv1";
    expect(commands).toContain(`run --rm --platform linux/s390x ${image}@sha256:${"3".repeat(64)} /app/catalogd.js version`);
    expect(commands).toContain(`create --platform linux/s390x --name copy ${image}@sha256:${"3".repeat(64)}`);
  });

  test("fails when the image has another Node.js than its bill of materials", async () => {
    await expect(startPrograms(PLATFORMS, "24.0.1")).rejects.toThrow();
  });

  test("fails when the image lacks a platform", async () => {
    await expect(startPrograms(PLATFORMS.slice(0, 3))).rejects.toThrow();
  });
});

test("the release workflow attaches all attestations in one format, with the types in the guide, and signs in the format of cosign 2", () => {
  const jobs = readJobs(RELEASE);
  const steps = jobs["image"]?.steps ?? [];
  const attached = steps.filter((step) => step.with?.["push-to-registry"] === true);
  expect(attached.map(({ uses = "" }) => uses.split("@")[0])).toEqual([
    "actions/attest",
    "actions/attest",
    "actions/attest-build-provenance",
  ]);
  const types = listInputs(attached, "predicate-type");
  expect(types).toEqual(["https://cyclonedx.org/bom", "https://spdx.dev/Document/v2.3"]);
  const guide = readText("docs/how-to/verify-a-release.md");
  for (const type of types) expect(guide).toContain(`--predicate-type ${type}`);
  // cosign finds one format of attestations only, and nodes read only signatures in the format of cosign 2.
  expect(readText(RELEASE)).not.toContain("cosign attest");
  const versions = Object.values(jobs).flatMap((job) => listInputs(job.steps, "cosign-release"));
  expect(versions.length).toBeGreaterThan(0);
  expect(versions.filter((version) => !version.startsWith("v2."))).toEqual([]);
  expect(guide.match(/^cosign verify .*/gm)?.every((line) => line.startsWith("cosign verify --new-bundle-format=false "))).toBe(true);
});

test("the release workflow uses the Node.js that package.json pins, which becomes part of the executables", () => {
  const steps = Object.values(readJobs(RELEASE)).flatMap((job) => job.steps);
  const used = steps.filter(({ uses = "" }) => uses.startsWith("actions/setup-node@")).map((step) => step.with?.["node-version"]);
  expect(new Set(used)).toEqual(new Set([readPinnedNode()]));
});

test("the release workflow pins the images of QEMU and BuildKit by digest, and does not read them from a cache", () => {
  const steps = readJobs(RELEASE)["image"]?.steps ?? [];
  const [qemu, buildx] = ["docker/setup-qemu-action@", "docker/setup-buildx-action@"].map(
    (action) => steps.find(({ uses = "" }) => uses.startsWith(action))?.with ?? {},
  );
  expect(qemu).toMatchObject({ image: expect.stringMatching(PINNED_IMAGE), "cache-image": false });
  expect(buildx).toMatchObject({ "driver-opts": expect.stringMatching(/^image=/), "cache-binary": false });
  expect(String(buildx?.["driver-opts"]).replace("image=", "")).toMatch(PINNED_IMAGE);
  const [, version = ""] = /image=docker\.io\/(\S+)@/.exec(String(buildx?.["driver-opts"])) ?? [];
  const guide = readText("docs/how-to/verify-a-release.md");
  expect(guide).toContain(`--driver-opt image=${version}\n`);
  expect(guide).toContain(
    String(steps.find(({ id }) => id === "second")?.with?.["outputs"]).replace("${{ env.IMAGE }}", "ghcr.io/olmv1/olmv1"),
  );
});

test("the image contains only files of the build stage, whose permissions do not depend on the checkout", () => {
  const [build = "", image = ""] = readText("Dockerfile").split("\nFROM base\n");
  const copied = [...image.matchAll(/^(?:COPY|ADD) (.*) \S+$/gm)].map(([, words = ""]) => words.split(" "));
  expect(copied.length).toBeGreaterThan(0);
  expect(copied.filter(([from]) => from !== "--from=build")).toEqual([]);
  const [, roots = ""] = /^RUN chmod -R u=rwX,go=rX (.*)$/m.exec(build) ?? [];
  const sources = copied.flatMap((words) => words.filter((word) => !word.startsWith("--")));
  expect(sources.filter((path) => !roots.split(" ").some((root) => `${path}/`.startsWith(`/src/${root}/`)))).toEqual([]);
  expect(build.indexOf("RUN chmod")).toBeGreaterThan(build.lastIndexOf("COPY "));
});

test("the base images of the Dockerfile are pinned by digest", () => {
  const text = readText("Dockerfile");
  const stages = [...text.matchAll(/^FROM .* AS (\w+)$/gm)].map(([, stage = ""]) => stage);
  expect(stages).toEqual(["base", "build"]);
  const bases = [...text.matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm)]
    .map(([, base = ""]) => base)
    .filter((base) => !stages.includes(base));
  expect(bases.length).toBe(2);
  expect(bases.filter((base) => !PINNED_IMAGE.test(base))).toEqual([]);
});
