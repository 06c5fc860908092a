import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { runCli } from "../../test/support/runCli.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";

afterEach(() => void vi.unstubAllEnvs());

test.for<[string, string[], string]>([
  ["an unknown option", ["tree", "x", "--nonsense"], "olmv1: unknown option '--nonsense'. See --help\n"],
  ["a missing argument", ["tree"], "olmv1: missing required argument 'name'. See --help\n"],
  ["an empty argument", ["uninstall", "", "--yes"], "olmv1: argument 'name' is empty. See --help\n"],
  ["an empty optional argument", ["migrate", "cleanup", ""], "olmv1: argument 'name' is empty. See --help\n"],
  ["an unknown command", ["instal"], "olmv1: unknown command 'instal' (Did you mean install?). See --help\n"],
  [
    "an unknown format",
    ["resolve", "x", "-o", "table"],
    "olmv1: option '-o, --output <format>' argument 'table' is invalid. Allowed choices are text, json, yaml, jsonpath=<template>. See --help\n",
  ],
  [
    "an invalid template before it reads the kubeconfig",
    ["install", "x", "--kubeconfig", "/nowhere", "-o", "jsonpath={.metadata.name"],
    "olmv1: option '-o, --output <format>' argument 'jsonpath={.metadata.name' is invalid. jsonpath: \"{\" at position 1 is not closed. See --help\n",
  ],
])("olmv1 reports %s in one line and exits with 2", async ([, args, err]) => {
  expect(await runCli(args)).toEqual({ code: 2, out: "", err });
});

test("olmv1 prints an error in the requested output format", async () => {
  const { code, out, err } = await runCli(["catalog", "validate", "/nowhere", "--output=json"]);
  expect([code, out, JSON.parse(err)]).toEqual([2, "", { error: { message: '"/nowhere" is not a directory' } }]);
  expect((await runCli(["catalog", "validate", "-o", "yaml"])).err).toBe(
    "error:\n  message: missing required argument 'catalog'. See --help\n",
  );
});

test("olmv1 exits with 0 for --help and --version, and with 2 and help if a subcommand is missing", async () => {
  expect(await runCli(["--version"])).toEqual({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), err: "" });
  const help = await runCli(["tree", "--help"]);
  expect([help.code, help.err]).toEqual([0, ""]);
  expect(help.out).toContain("Examples:\n  olmv1 tree argocd\n");
  const bare = await runCli(["catalog"]);
  expect([bare.code, bare.out]).toEqual([2, ""]);
  expect(bare.err).toContain("validate");
});

test("olmv1 exits with 130 when Ctrl-C interrupts a waiting command", async () => {
  const stop = new AbortController();
  const ended = runCli(["tree", "x", "--kubeconfig", "/nowhere"], { signal: stop.signal });
  stop.abort(new Error("stopped by SIGINT"));
  expect((await ended).code).toBe(130);
});

test.for([
  ["catalog", "serve", "IMAGE"],
  ["catalog", "validate", "IMAGE"],
  ["catalog", "diff", "IMAGE", "IMAGE"],
  ["catalog", "extract", "IMAGE", "TARGET"],
  ["catalog", "images", "IMAGE"],
  ["catalog", "add-bundle", "TARGET", "IMAGE", "--channels", "stable"],
  ["catalog", "mirror", "IMAGE", "mirror.internal"],
  ["rbac", "IMAGE"],
  ["permissions", "policy", "test", "--bundle", "IMAGE", "--filename", "POLICY"],
])("olmv1 %s %s stops a pull without leftovers when Ctrl-C interrupts it", async (args) => {
  using folder = new TempFolder();
  const temporary = folder.write("tmp", {});
  vi.stubEnv("TMPDIR", temporary);
  const sockets: Socket[] = [];
  const hanging = createServer((socket) => void sockets.push(socket.on("error", () => undefined))).listen(0, "127.0.0.1");
  await once(hanging, "listening");
  const policy = folder.write("policy", {
    "p.yaml": "apiVersion: olm.operatorframework.io/v1alpha1\nkind: PermissionPolicy\nmetadata:\n  name: p\nspec: {}\n",
  });
  const values: Record<string, string> = {
    IMAGE: `127.0.0.1:${(hanging.address() as AddressInfo).port}/acme/image:v1`,
    TARGET: folder.write("target", {}),
    POLICY: `${policy}/p.yaml`,
  };
  const stop = new AbortController();
  const running = runCli(
    args.map((arg) => values[arg] ?? arg),
    { signal: stop.signal },
  );
  try {
    await Promise.race([once(hanging, "connection"), running.then(({ err }) => expect.fail(err))]);
    stop.abort(new Error("stopped by SIGINT"));
    expect((await running).code).toBe(130);
    expect(await readdir(temporary)).toEqual([]);
  } finally {
    for (const socket of sockets) socket.destroy();
    hanging.close();
  }
});
