import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isAlive } from "./binaryCache.ts";
import { Component, type ComponentSpec } from "./component.ts";
import { buildGuardCommand } from "./processes.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "olmv1-component-"));
});
afterEach(() => rm(folder, { recursive: true }));

function shell(script: string, ready: ComponentSpec["ready"]): ComponentSpec {
  return {
    name: "server",
    binary: { path: "/bin/sh", watchesStdin: false },
    args: ["-c", script],
    logFile: join(folder, "server.log"),
    ready,
  };
}

describe("Component", () => {
  test("component.ready fails with the end of the log when the server exits before it is ready", async () => {
    const component = Component.start(shell("echo first; echo listen: address already in use >&2; exit 3", () => Promise.resolve(false)));
    await expect(component.ready(10_000)).rejects.toThrow(
      /^server exited with code 3; the end of .*server\.log:\n {2}first\n {2}listen: address already in use$/,
    );
  });

  test("component.ready fails when the server is not ready within the timeout, and component.stop then ends the server", async () => {
    const component = Component.start(shell("sleep 60", () => Promise.reject(new Error("connection refused"))));
    await expect(component.ready(200)).rejects.toThrow("server was not ready within 0.2 s");
    await component.stop();
    expect(component.end).toBeDefined();
    expect(isAlive(component.pid!)).toBe(false);
  });

  test("component does not pass proxies and settings of another cluster to the server", async () => {
    process.env["HTTPS_PROXY"] = "http://proxy.example.com";
    try {
      const component = Component.start(
        shell("env; sleep 60", async () => (await readFile(join(folder, "server.log"), "utf8")).includes("OTEL_TRACES_EXPORTER=none")),
      );
      await component.ready(10_000);
      await component.stop();
    } finally {
      delete process.env["HTTPS_PROXY"];
    }
    expect(await readFile(join(folder, "server.log"), "utf8")).not.toContain("proxy.example.com");
  });
});

describe("buildGuardCommand", () => {
  test("buildGuardCommand preserves the output and exit code of the command", async () => {
    const [command, args] = buildGuardCommand("/bin/sh", ["-c", 'echo "$1"; exit 7', "sh", "a b"]);
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    expect(await once(child, "close")).toEqual([7, null]);
    expect(Buffer.concat(chunks).toString()).toBe("a b\n");
  });

  test("buildGuardCommand ends the command when the parent process is killed", async () => {
    const script = `
      const { spawn } = await import("node:child_process");
      const { buildGuardCommand } = await import(${JSON.stringify(join(import.meta.dirname, "processes.ts"))});
      const [command, args] = buildGuardCommand("/bin/sh", ["-c", "echo $$; exec sleep 60"]);
      spawn(command, args, { stdio: ["pipe", "inherit", "inherit"] });`;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(line.toString());
    expect(isAlive(pid)).toBe(true);
    parent.kill("SIGKILL");
    for (let waited = 0; waited < 3000 && isAlive(pid); waited += 50) await sleep(50);
    expect(isAlive(pid)).toBe(false);
  });
});
