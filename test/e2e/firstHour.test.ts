import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clusterAvailable } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { compareOutput, PageSession, readPageSteps } from "../support/pageSession.ts";
import { TempFolder } from "../support/tempFolder.ts";

const ROOT = join(import.meta.dirname, "../..");
const TUTORIAL = join(ROOT, "docs/tutorial.md");
const INSTALL = join(ROOT, "docs/how-to/install-an-operator.md");
const START_TIMEOUT_MS = 600_000;

/** Without a terminal, commands that ask for confirmation need `--yes`. Readers of the pages confirm with y. */
function confirm(commands: string): string {
  return commands.replace(/^olmv1 (?:install|upgrade|uninstall)\b.*$/gm, (command) => `${command} --yes`);
}

// Source: README.md, docs/tutorial.md and docs/how-to/install-an-operator.md, in the order of a new user.
describe.skipIf(!clusterAvailable())("the first hour of a new user", () => {
  const folder = new TempFolder();
  let start: ChildProcess;
  let started = "";
  let session: PageSession;

  /** Returns the lines that `npm start` prints after a heading, up to the next blank line, without indentation. */
  const closing = (heading: RegExp): string[] => {
    const lines = started.split("\n");
    const from = lines.findIndex((line) => heading.test(line)) + 1;
    return lines.slice(from, lines.indexOf("", from)).map((line) => line.trim());
  };

  beforeAll(async () => {
    const { KUBECONFIG: _, ...env } = process.env;
    start = spawn("npm", ["start"], { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [start.stdout, start.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => (started += stripVTControlCharacters(text)));
    await eventually(() => expect(started).toContain("Press Ctrl-C"), { timeoutMs: START_TIMEOUT_MS });
    session = new PageSession(folder.write("scripts", {}), ROOT, { PATH: process.env["PATH"], HOME: folder.write("home", {}) });
  }, START_TIMEOUT_MS);

  afterAll(() => {
    session?.close();
    start?.kill("SIGTERM");
    folder[Symbol.dispose]();
  });

  test("npm start prints the output in the README", () => {
    const page = readPageSteps(join(ROOT, "README.md")).find(({ commands }) => commands === "npm start")?.output ?? "";
    expect(compareOutput(page, started.slice(started.indexOf("Starting the embedded control plane")))).toBeUndefined();
  });

  test("the env file that npm start prints sets up olmv1, kubectl and the cluster", async () => {
    const [source = ""] = closing(/^In another terminal/);
    await session.run(source);
    expect(await session.run("olmv1 version")).toMatch(/^operator-controller: +0\.1\.0$/m);
    expect(await session.run("kubectl get cext,ccat -o wide")).toMatch(/hello-operator\.v1\.0\.0 .*hello-catalog/);
    expect(await session.run("kubectl get ccat")).toMatch(/^hello-catalog +\S+ +True +Succeeded +1 +sha256:\S+ +\S+$/m);
    expect(await session.run("olmv1 doctor")).toMatch(/\n0 problems, /);
  });

  test("the catalog page is served at the address that npm start prints", async () => {
    const address = /^Catalog page: (\S+)$/m.exec(started)?.[1] ?? "";
    const response = await fetch(address, { headers: { accept: "text/html" } });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("<html")]);
  });

  test("the commands of the tutorial print the output that the page shows, and leave no objects", async () => {
    const untracked = await session.run(`git -C '${ROOT}' status --short --untracked-files`);
    await session.runPage(TUTORIAL, confirm);
    expect(await session.run("kubectl get namespace teapot-operator-system --ignore-not-found; kubectl get ccat -o name")).toMatch(
      /^clustercatalog\S+\/hello-catalog\s*$/,
    );
    expect(await session.run(`git -C '${ROOT}' status --short --untracked-files`)).toBe(untracked);
  });

  test("the commands that npm start suggests run as printed", async () => {
    const [describeIt = "", upgrade = "", uninstall = ""] = closing(/^Then try:/);
    expect(await session.run(describeIt)).toMatch(/^Status: +Ready$/m);
    expect(await session.run(confirm(upgrade))).toContain("hello: hello-operator.v1.2.0 (version 1.2.0) is installed and ready");
    expect(await session.run(confirm(uninstall))).toContain("ClusterExtension hello deleted");
  });

  test("the commands of the page about installing an operator print the output that the page shows", async () => {
    await session.runPage(INSTALL, confirm);
    expect(await session.run("kubectl get cext,crd -o name")).not.toContain("greetings");
  });

  test("olmv1 install without a terminal grants no permissions to a ServiceAccount that olmv1 did not create", async () => {
    await session.run("kubectl create namespace hello && kubectl -n hello create serviceaccount hello-installer");
    const install = "olmv1 install hello-operator --name hello --namespace hello --create-service-account --yes || true";
    expect(await session.run(install)).toContain(
      'ServiceAccount "hello/hello-installer" exists and was not created by olmv1 install: use --service-account hello-installer',
    );
    expect((await session.run("kubectl -n hello get role,rolebinding -o name --ignore-not-found")).trim()).toMatch(
      /^(?:No resources found.*)?$/,
    );
  });
});
