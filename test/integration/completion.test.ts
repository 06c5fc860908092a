import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { describeWithCluster, type TestCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { runCli } from "../support/runCli.ts";
import { TempFolder } from "../support/tempFolder.ts";

const PROGRAM = join(import.meta.dirname, "../../cmd/olmv1/main.ts");
/** Commands that start each shell without the machine's startup files, and that enable olmv1 completion. */
const SHELLS = {
  bash: { start: "bash --norc --noprofile -i", load: "source <(olmv1 completion bash)" },
  zsh: { start: "zsh -f -i", load: "autoload -U compinit && compinit -D && source <(olmv1 completion zsh)" },
  fish: { start: "fish --no-config -i", load: "olmv1 completion fish | source" },
};
type ShellName = keyof typeof SHELLS;

/** A shell in a terminal that receives keystrokes. */
class TypedShell implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  #seen = "";

  constructor(command: string, env: Record<string, string>) {
    this.#child = spawn("script", ["-qec", command, "/dev/null"], { env: { ...process.env, TERM: "xterm", COLUMNS: "200", ...env } });
    this.#child.stdout.on("data", (data: Buffer) => (this.#seen += data.toString()));
  }

  type(keys: string): void {
    this.#child.stdin.write(keys);
  }

  async shows(text: string): Promise<void> {
    await eventually(() => expect(stripVTControlCharacters(this.#seen)).toContain(text));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

function has(command: string): boolean {
  try {
    execFileSync("sh", ["-c", `command -v ${command}`]);
    return true;
  } catch {
    return false;
  }
}

describeWithCluster("completion in a shell", (cluster: TestCluster) => {
  const folder = new TempFolder();
  let name: string;
  let bin: string;

  beforeAll(async () => {
    await cluster.installCrds();
    name = cluster.name("completed-by-tab");
    const spec = { namespace: "default", serviceAccount: { name: "x" }, source: { sourceType: "Catalog", catalog: { packageName: "p" } } };
    await cluster.client.create({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, metadata: { name }, spec });
    bin = folder.write("bin", {
      olmv1: `#!/bin/sh\nif [ "$1" = tree ]; then echo "shown: $*."; exit; fi\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`,
    });
    chmodSync(join(bin, "olmv1"), 0o755);
  });

  afterAll(async () => {
    folder[Symbol.dispose]();
    await cluster.client.delete({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
  });

  test("olmv1 completion lists names from the cluster of the given kubeconfig", async () => {
    const line = `olmv1 tree --kubeconfig ${cluster.kubeconfig} completed-by-`;
    expect((await runCli(["__complete", "--line", line])).out).toBe(`${name}\n:4\n`);
    const contexts = await runCli(["__complete", "tree", "--kubeconfig", cluster.kubeconfig, "--context", ""]);
    expect(contexts.out.split("\n").length).toBeGreaterThan(2);
  });

  test("kubectl_complete-olmv1, which kubectl calls for completion of its plug-in, prints completions", () => {
    const plugin = join(folder.write("plugin", {}), "kubectl_complete-olmv1");
    symlinkSync(join(PROGRAM, "../launch.sh"), plugin);
    expect(execFileSync(plugin, ["tre"], { encoding: "utf8" })).toMatch(/^tree\t.*\n:4\n$/);
  });

  test.for<ShellName>(["bash", "zsh", "fish"])("%s completes commands and names", async (shell, context) => {
    const missing = ["script", shell].find((command) => !has(command));
    if (missing !== undefined) context.skip(`there is no ${missing} on this machine`);
    const { start, load } = SHELLS[shell];
    const env = { PATH: `${bin}:${process.env["PATH"]}`, KUBECONFIG: cluster.kubeconfig, HOME: folder.write("home", {}) };
    await using typed = new TypedShell(start, env);
    typed.type(`${load}; echo load''ed\r`);
    await typed.shows("loaded");
    typed.type("olmv1 tre\t");
    await typed.shows("tree"); // zsh only redraws changes
    typed.type("completed-by\t");
    await typed.shows(name);
    typed.type("\r");
    await typed.shows(`shown: tree ${name}.`);
  });
});
