import { execFile } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { TempFolder } from "../../test/support/tempFolder.ts";

const run = promisify(execFile);

/** Runs a copy of launch.sh in a clone without the packaged Node.js, with this program as `node` on PATH. */
async function launchWith(
  node: string,
  packages: Readonly<Record<string, string>> = { "node_modules/.package-lock.json": "{}" },
): Promise<{ code: number; out: string; err: string }> {
  using folder = new TempFolder();
  const clone = folder.write("clone", { "cmd/olmv1/main.ts": "console.log(process.argv[2]);\n", "bin/node": node, ...packages });
  const script = join(clone, "cmd/olmv1/launch.sh");
  copyFileSync(join(import.meta.dirname, "launch.sh"), script);
  const command = `chmod +x bin/node && exec sh ${script} given`;
  const env = { PATH: `${join(clone, "bin")}:/usr/bin:/bin` };
  return await run("/bin/sh", ["-c", command], { cwd: clone, env }).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, out: stdout, err: stderr }),
  );
}

test("launch.sh runs the program when node is recent enough", async () => {
  expect(await launchWith(`#!/bin/sh\nexec "${process.execPath}" "$@"\n`)).toEqual({ code: 0, out: "given\n", err: "" });
});

test("launch.sh reports the required Node version when node is older", async () => {
  const { code, err } = await launchWith("#!/bin/sh\nexit 1\n");
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(/^olmv1: cannot start: it needs Node\.js 22\.19 or later\. Run npm ci in \/.*clone, /),
  ]);
});

test("launch.sh says how to install the packages when they are missing", async () => {
  const { code, err } = await launchWith(`#!/bin/sh\nexec "${process.execPath}" "$@"\n`, {});
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(/^olmv1: cannot start: its packages are not installed\. Run npm ci in \/.*clone\.\n$/),
  ]);
});
